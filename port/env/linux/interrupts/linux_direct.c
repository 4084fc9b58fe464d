/* SPDX-License-Identifier: MIT */
/*
 * linux_direct.c (Linux) - programs that set handlers, masks and signal stacks by system calls of
 * their own, past this library. Go programs with cgo do so: "direct" programs.
 *
 * Such calls act on the kernel thread, which belongs to a user thread for a while only. A direct
 * program is noticed by a handler with SA_ONSTACK for one of the runtime's own signals, which only
 * a program sets that catches all signals: when the runtime takes the signal (own_signal), when the
 * program asks for it by sigaction, or when the monitor finds it replaced (own_signals_look). From
 * then on, for ever:
 *   1. Masks. A kernel thread whose mask differs from that of all carriers had a thread that has
 *      set it. The thread's record gets the mask, and the kernel thread the common one, at the next
 *      signal (signals_learn) and at every switch (direct_switch: all switches come by
 *      port_cpus_switch). So no thread finds the mask of another. A mask that blocks the runtime's
 *      signals, too, is one for a short time (Go blocks everything around some calls): it is not
 *      recorded.
 *   2. Signals by tgkill, DIRECT_OPEN. The program means the thread that was on that kernel thread
 *      when it asked for its id; now it may be on any. So all threads get the signal
 *      (posix_signal_everyone). For one that blocks it, it is pending: that may be a mask from
 *      before the thread's own call, which is not known yet (1). Only SIGURG is treated so, which
 *      Go has chosen because a program must expect it without a reason. Carriers do not block it
 *      then: one that did would keep the signal for as long as it sleeps.
 *   3. A thread is not switched by a tick. It loses its CPU instead, as in the C library, and goes
 *      on with its kernel thread. It begins so, too. Go blocks all signals, also the runtime's, in
 *      a thread that calls Go for the first time, and lets it wait by sleeping until another thread
 *      has made room. If the first one had a CPU, nobody could take that away, and the other one
 *      might need it.
 *   4. Stacks. A handler with SA_ONSTACK whose thread computes on a stack of the program's own, and
 *      has no alternate stack that the library knows of, runs on the carrier's signal stack, as if
 *      the kernel had called it there (linux_signals.c, place_for). It blocks all signals, so that
 *      frames do not pile up. It must not wait by functions of this library (linux_frame.c, 3);
 *      Go's does not. Go uses whatever alternate stack the kernel names: that of the carrier.
 */
#include "linux.h"

#include "port_calls.h"

#if defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN)

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 200u /* for a carrier to begin */
#define BIT(signal) (UINT64_C(1) << ((signal)-1))

static uint32_t direct; /* (A) 0, then 1 for ever */

bool direct_is_on(void)
{
    return __atomic_load_n(&direct, __ATOMIC_RELAXED) != 0;
}

void direct_look(void)
{
    if (direct_is_on()) {
        affinity_all_switches(DIRECT_BIT);
    }
}

void port_signals_direct(void)
{
    if (__atomic_exchange_n(&direct, 1, __ATOMIC_RELAXED) == 0) {
        affinity_all_switches(DIRECT_BIT);
        signals_open_direct();
    }
}

/* The kernel thread had this mask when t ran on it. Returns the mask that it is to have. */
static uint64_t learn(struct thread *t, uint64_t mask, uint64_t common)
{
    const uint64_t later = BIT(CANCEL_SIGNAL), own = port_signals_own();
    RT_ASSERT(direct_is_on() && (common & own) == 0);
    if (((mask ^ common) & ~(own | BIT(SIGKILL) | BIT(SIGSTOP))) != 0 &&
        (mask & own & ~later) == 0) {
        signals_mask_by_program(t, mask);
    }
    return common | (mask & later); /* cancel_notify_later */
}

void direct_learn(void *frame, struct thread *t)
{
    ucontext_t *context = frame;
    uint64_t mask, common;
    memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    if (signals_mask_common(&common)) {
        mask = learn(t, mask, common);
        memcpy(&context->uc_sigmask, &mask, sizeof(mask));
    }
}

void direct_switch(struct thread *from)
{
    uint64_t mask, common, next;
    if (!direct_is_on() || rt_thread_is_idle(from) || !signals_mask_common(&common)) {
        return;
    }
    RT_ASSERT(port_irq_is_off());
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
    next = learn(from, mask, common);
    if (((next ^ mask) & ~(BIT(SIGKILL) | BIT(SIGSTOP))) != 0) {
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &next, NULL, sizeof(next));
    }
}

/* Without a carrier for the CPU, soon, it goes on with it. */
void direct_thread_begins(void)
{
    for (unsigned round = 0; direct_is_on() && port_cpu_self() != NULL && round < ROUNDS; round++) {
        if (!rt_call_unannounced()) {
            rt_preempt_away_soon();
            port_relax(round);
        }
    }
}

#else

void direct_thread_begins(void) {}

bool direct_is_on(void)
{
    return false;
}

void direct_look(void) {}

void direct_switch(struct thread *from)
{
    (void)from;
}

#endif
