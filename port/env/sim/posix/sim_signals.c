/* SPDX-License-Identifier: MIT */
/*
 * sim_signals.c (simulator) - the program's signals in the kernel, and the receiver: see
 * sim_kernel.h, and linux_signals.c, whose part this has.
 */
#include "sim_kernel.h"
#include "sim_posix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "../../../src/core/cancel.h"
#include "../../../src/core/mutant.h"
#include "port_calls.h"
#include "port_signals.h"

#define SIGNALS 64
#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define QUEUE 256u
/* Threads of a run are inside the runtime for most of its few microseconds: attempts to reach them
 * outside of it come so many times sooner than on Linux. */
#define RECEIVER_HASTE 500u

static struct {
    const struct port_signal_upcalls *up; /* NULL: signals are the kernel's */
    struct sigaction action[SIGNALS + 1];
    siginfo_t queue[QUEUE]; /* of the process, in the order of arrival */
    unsigned queued;
    unsigned receiver; /* its context; 0: none */
    bool woken;
    uint64_t left; /* the program asks for these itself: signalfd */
    int expected;  /* whose default action the test wants */
} state;

void sim_signals_reset(void)
{
    memset(&state, 0, sizeof(state));
}

/* ---- what the process has got ---- */

uint64_t sim_process_pending(void)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < state.queued; i++) {
        set |= BIT(state.queue[i].si_signo);
    }
    return set;
}

bool sim_process_take(uint64_t set, siginfo_t *info)
{
    for (unsigned i = 0; i < state.queued; i++) {
        if (set & BIT(state.queue[i].si_signo)) {
            *info = state.queue[i];
            memmove(&state.queue[i], &state.queue[i + 1],
                    (--state.queued - i) * sizeof(state.queue[0]));
            return true;
        }
    }
    return false;
}

/* Those below the real-time signals are pending once. */
void sim_process_send(const siginfo_t *info)
{
    if (state.up == NULL) {
        sim_fail("signal %d is sent before the program has a handler or a mask", info->si_signo);
    }
    if (info->si_signo > SIGRTMIN || !(sim_process_pending() & BIT(info->si_signo))) {
        if (state.queued == QUEUE) {
            sim_fail("too many signals are pending in the simulated kernel");
        }
        state.queue[state.queued++] = *info;
    }
    sim_context_permit(state.receiver);
    sim_kernel_wake();
}

void sim_kill(int signal)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = SI_USER;
    sim_point(52, (uint32_t)signal);
    sim_process_send(&info);
}

/* ---- the receiver ---- */

static void receiver_main(void *unused)
{
    (void)unused;
    for (;;) {
        state.woken = false;
        uint64_t next = state.up->pump();
        if (!state.woken && (sim_process_pending() & ~state.left) == 0) {
            uint64_t wait = next > sim.now ? next - sim.now : 0;
            sim_context_wait(&sim.contexts[sim_current],
                             next == UINT64_MAX ? next : sim.now + wait / RECEIVER_HASTE);
        }
    }
}

unsigned sim_receiver_asked(void)
{
    return sim_kthreads[state.receiver].asked;
}

unsigned sim_others_sent(void)
{
    unsigned all = 0;
    for (unsigned i = 0; i < SIM_CONTEXTS; i++) {
        all += i != state.receiver ? sim_kthreads[i].sends : 0;
    }
    return all;
}

void port_signals_wake(void)
{
    if (state.receiver != 0 && !state.woken) {
        state.woken = true;
        sim_context_permit(state.receiver);
    }
}

int port_signals_start(const struct port_signal_upcalls *up)
{
    sim_point(53, 0);
    if (state.up == NULL) {
        state.up = up;
        state.receiver = sim_context_new(receiver_main, NULL, NULL);
    }
    return 0;
}

/* ---- taking ---- */

static struct thread *running(void)
{
    struct cpu *cpu = port_cpu_self();
    struct thread *t = cpu != NULL ? cpu->current : port_left_self();
    return t != NULL && !(t->flags & THREAD_IDLE) ? t : NULL;
}

/* As signals_take of linux_signals.c, where a handler may run. */
void sim_signals_take(void)
{
    ucontext_t context;
    if (state.up == NULL || running() == NULL || !rt_signalled()) {
        return;
    }
    if (sim.contexts[sim_current].on_signal_stack) {
        sim_interrupt_send(sim_current);
        return;
    }
    RT_ASSERT(!port_is_inside());
    memset(&context, 0, sizeof(context));
    state.up->take(&context);
}

bool port_signals_accept(void)
{
    sim_point(54, 0);
    sim_interrupt_take(SIM_USER);
    return true;
}

void port_signals_direct(void) {}

/* ---- the rest of the seam ---- */

int port_signal_catch(int signal, int flags)
{
    state.action[signal] = (struct sigaction){.sa_flags = flags};
    return 0;
}

int sim_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    if (old != NULL) {
        *old = state.action[signal];
    }
    if (action != NULL) {
        state.action[signal] = *action;
    }
    return 0;
}

uint64_t port_signals_own(void)
{
    return 0;
}

bool port_signal_fetch(void *info)
{
    sim_point(55, 0);
    return sim_process_take(~state.left, info);
}

uint64_t port_signals_of_kernel(void)
{
    return sim_process_pending();
}

void port_signals_leave_to_kernel(uint64_t set)
{
    state.left |= set;
}

void sim_expect_default(int signal)
{
    state.expected = signal;
}

void port_signal_default(int signal)
{
    if (signal != state.expected) {
        sim_fail("the default action of signal %d ends the process", signal);
    }
    port_exit(128 + signal);
}

void port_signal_mask(const uint64_t *mask)
{
    sim_kthread_self()->mask = mask != NULL ? *mask : 0;
}

bool port_signal_stack(void *programs)
{
    (void)programs;
    return false;
}

/* Main is a user thread here. */
bool port_signal_to_main(int signal, const void *info)
{
    (void)signal;
    (void)info;
    return false;
}

/* There are no protection keys here. */
uint32_t port_pkeys_enter(void)
{
    return 0;
}

void port_pkeys_leave(uint32_t rights)
{
    RT_ASSERT(rights == 0);
}

/* The contexts' stacks are as good as any. */
void port_call_on(int signal, void *info, void *context, void (*fn)(int, void *, void *), void *top)
{
    (void)top;
    fn(signal, info, context);
}

int port_cancel_start(void)
{
    return 0;
}
