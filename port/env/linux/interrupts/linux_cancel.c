/* SPDX-License-Identifier: MIT */
/*
 * linux_cancel.c (Linux) - interrupting threads that have a request to end (core/cancel.h) or
 * signals (linux_signals.c): in a system call, or, with asynchronous cancellation and for handlers,
 * anywhere.
 *
 * The signal is the one that the C library reserves for this: no mask of its functions ever blocks
 * it. (The C library's own pthread_cancel is not used then.) In a call by port_stop_call:
 *   1. The signal comes before the system call instruction: the handler continues the call at
 *      port_stop_out (PORT_CALL_STOPPED). It makes no difference whether the thread has looked at
 *      its word already, because the word is written before the signal is sent.
 *   2. The call waits in the kernel. It may end with EINTR, which the caller attributes to the
 *      request. Or the kernel repeats it (SA_RESTART): then the interrupted instruction is the
 *      system call, as in 1, and the registers tell the two apart (PORT_CALL_REPEATS), because a
 *      handler does not end a call that was not made. A call that has moved some data returns that.
 *   3. The signal comes after the instruction: the result stays.
 *   4. The signal comes while a handler of the program runs on top of the call: it is put off until
 *      that handler has returned, and is then 1 or 2. The same holds in 3, where the thread takes
 *      it when it leaves. Asynchronously: if the thread is outside of the runtime, the handler ends
 *      the thread from inside itself, and unwinds through the signal's frame, which has been moved
 *      from the carrier's signal stack to the thread's. There the signal is not blocked. If
 *      the thread is inside, or in the C library, a later tick does it (linux_preempt.c); without
 *      preemption its next cancellation point.
 */
#include "linux.h"
#include "port_calls.h"
#include "port_signals.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

PORT_ARCH_STOP_CALL;
#ifdef PORT_ARCH_SA_RESTORER
PORT_ARCH_SIGNAL_RETURN;
extern const char port_signal_return[] __attribute__((visibility("hidden")));
#define RETURN_FLAG PORT_ARCH_SA_RESTORER
#define RETURN .restorer = port_signal_return,
#else
#define RETURN_FLAG 0u
#define RETURN
#endif
extern const char port_stop_begin[] __attribute__((visibility("hidden")));
extern const char port_stop_end[] __attribute__((visibility("hidden")));
extern const char port_stop_out[] __attribute__((visibility("hidden")));

/* An action as the kernel defines it. Architectures without a restorer have the mask at its offset;
 * both are 0 there. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    const void *restorer;
    uint64_t mask;
};

#ifdef PORT_ARCH_TLS_INC
static bool is_outside(void)
{
    return port_cpu_self() != NULL && (port_tls_inside & ~PREEMPT_DEFERRED) == 0;
}
#else
/* Not known on this architecture. */
static bool is_outside(void)
{
    return false;
}
#endif

/* A signal that looks like that of kill() needs no slot in the queue. Linux lets a kernel thread
 * send one only to itself. */
static bool send_unqueued(int tid)
{
    siginfo_t info = {.si_signo = CANCEL_SIGNAL, .si_code = SI_USER};
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, CANCEL_SIGNAL, &info) == 0;
}

/* EAGAIN: too many signals are queued (RLIMIT_SIGPENDING): try until there is room. */
void cancel_send(int tid)
{
    int saved = errno;
    for (unsigned round = 0;
         syscall(SYS_tgkill, getpid(), tid, CANCEL_SIGNAL) != 0 && errno == EAGAIN; round++) {
        if (tid == (int)syscall(SYS_gettid) && send_unqueued(tid)) {
            break;
        }
        port_relax(round);
    }
    errno = saved;
}

/* The kernel queues this signal: a carrier that does not run for a while would get a frame on its
 * stack for each. So there is one at most; its handler clears the mark before it looks for
 * requests. ORDER(sent) */
static void tell(struct carrier *k)
{
    struct port_carrier *port = rt_carrier_port(k);
    if (__atomic_load_n(&port->tid, __ATOMIC_RELAXED) == 0) {
        return; /* it has not begun */
    }
    if (__atomic_exchange_n(&port->cancel_sent, 1, __ATOMIC_ACQ_REL) == 0) { /* ORDER(sent) */
        cancel_send(__atomic_load_n(&port->tid, __ATOMIC_RELAXED));
    }
}

static const uint64_t own_bit = UINT64_C(1) << (CANCEL_SIGNAL - 1);

static void mask_change(int how)
{
    syscall(SYS_rt_sigprocmask, how, &own_bit, NULL, sizeof(own_bit));
}

static void block_in(ucontext_t *context)
{
    uint64_t mask;
    memcpy(&mask, &context->uc_sigmask, sizeof(mask));
    mask |= own_bit;
    memcpy(&context->uc_sigmask, &mask, sizeof(mask));
}

void cancel_notify_later(void *frame)
{
    int saved = errno;
    mask_change(SIG_BLOCK);
    if (frame != NULL && frame_interrupts_signal_stack(frame)) {
        block_in(frame);
    }
    cancel_send((int)syscall(SYS_gettid));
    errno = saved;
}

/* Block the signal in the code to which the handler returns, and send it again: it comes when that
 * code has returned to code that does not block it, or when the thread accepts it. */
static void put_off(ucontext_t *context)
{
    cancel_notify_later(NULL);
    block_in(context);
}

void port_interrupt_accept(void)
{
    int saved = errno;
    mask_change(SIG_UNBLOCK);
    errno = saved;
}

/* Continue behind the call, with a result that tells the two apart. Where the instruction leaves no
 * trace, only cancellation ends calls, for which both are the same. */
#ifdef PORT_ARCH_SIGNAL_REPEATS
static void call_stop(ucontext_t *context)
{
    if (PORT_ARCH_SIGNAL_REPEATS(context)) {
        PORT_ARCH_SIGNAL_FAIL(context, -PORT_CALL_REPEATS);
    } else {
        PORT_ARCH_SIGNAL_GO(context, (uintptr_t)port_stop_out);
    }
}
#else
static void call_stop(ucontext_t *context)
{
    PORT_ARCH_SIGNAL_GO(context, (uintptr_t)port_stop_out);
}
#endif

/* Asynchronously, on the thread's stack, where it may end. */
static void cancels(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    (void)signal;
    frame_open(context, OPENS_CANCEL);
    rt_cancel_async();
    signals_take(context, info);
}

static __attribute__((no_sanitize("thread", "address"))) void on_cancel(int signal, siginfo_t *info,
                                                                        void *arg)
{
    ucontext_t *context = arg;
    uintptr_t pc = PORT_ARCH_SIGNAL_PC(context);
    bool at_call = pc >= (uintptr_t)port_stop_begin && pc < (uintptr_t)port_stop_end;
    struct carrier *k = rt_carrier_here();
    RT_ASSERT(signal == CANCEL_SIGNAL);
    if (k != NULL) {
        RT_ASSERT(carrier_is_own(rt_carrier_port(k)));
        __atomic_exchange_n(&rt_carrier_port(k)->cancel_sent, 0,
                            __ATOMIC_ACQ_REL); /* ORDER(sent) */
    }
    enum rt_notice notice = rt_cancel_notice(at_call);
    (void)signal;
    signals_adopt(context);
    if (notice == RT_NOTICE_LATER) {
        RT_ASSERT(!at_call);
        put_off(context);
        return;
    }
    if (notice != RT_NOTICE_NONE && at_call) {
        call_stop(context);
        return;
    }
    port_disturbed |= port_cpu_self() == NULL; /* or it was for a thread that ran here before */
    if (notice == RT_NOTICE_STOP && frame_opens() != OPENS_CANCEL && is_outside() &&
        preempt_may_leave(context)) {
        RT_ASSERT(port_irq_is_on() && !frame_interrupts_signal_stack(context));
        frame_to_thread(CANCEL_SIGNAL, info, context, cancels);
        return;
    }
    signals_take(context, info);
}

int port_cancel_start(void)
{
    struct kernel_action action = {
        .handler = on_cancel, RETURN.flags = SA_SIGINFO | SA_RESTART | SA_NODEFER | RETURN_FLAG};
    action.flags |= (unsigned long)frames_flags();
    action.mask = frames_flags() != 0 ? ~UINT64_C(0) : 0;
    int saved = errno;
    int error = syscall(SYS_rt_sigaction, CANCEL_SIGNAL, &action, NULL, sizeof(action.mask)) == 0
                    ? 0
                    : -errno;
    errno = saved;
    return error;
}

void port_carrier_interrupt(struct carrier *k)
{
    tell(k);
}

void port_thread_interrupt(struct thread *t)
{
    struct cpu *cpu = rt_thread_cpu(t);
    RT_ASSERT(port_irq_is_off());
    if (cpu != NULL && cpu != port_cpu_self()) {
        tell(rt_cpu_carrier(cpu));
    }
}
