/* SPDX-License-Identifier: MIT */
/*
 * linux_frame.c (Linux) - the state that returning from a signal handler restores.
 *
 * The kernel writes a frame when it calls a handler, and sigreturn restores registers from it. It
 * also restores two things that belong to the kernel thread, not to the user thread: the signal
 * mask and the alternate signal stack. A user thread that is switched away inside a handler may
 * continue, and return, on another kernel thread. If it restored the first one's alternate stack
 * there, two kernel threads would have the same stack: their handlers' frames would overwrite each
 * other, and one would continue with the other's registers.
 *
 * Invariants:
 *   1. A carrier has its alternate stack as long as it lives, and no other kernel thread has that
 *      stack. So a frame through which a thread may have been switched restores none:
 *      frame_leave makes the flags invalid. The kernel then leaves the stack as it is, and
 *      restores the rest (sigaltstack would fail with EINVAL, which sigreturn ignores).
 *   2. Such a frame restores the mask of the kernel thread that executes sigreturn. frame_leave is
 *      the handler's last call. While carriers' masks may differ, it blocks all signals, so that
 *      neither a migration nor a handler that changes the mask (signals_adopt) can come in between,
 *      and writes the previous mask into the frame. Once all carriers have the same mask
 *      (signals_mask_common) it writes that one, and blocks nothing.
 *   3. While a carrier executes on its alternate stack, no user thread is switched and no handler
 *      of the program's begins, but one that does not wait (linux_direct.c, 4): the next handler on
 *      that stack would overwrite the frames of the thread that was switched away. Ticks that come
 *      meanwhile stay marked (preempt_deferred), signals are put off until the handler has returned
 *      (cancel_notify_later). Before a tick switches its thread, its frame moves to the thread's
 *      stack (linux_preempt.c).
 *      Debug builds ask port_switch_refused at every switch.
 *   4. A handler whose frame has moved begins with the runtime's signals blocked. It unblocks them
 *      (frame_open), and then takes signals for the thread, or cancels it. If another one of these
 *      signals has been sent meanwhile, its handler runs as soon as they are unblocked. It must not
 *      move its own frame to the thread's stack and do the same: a third signal could interrupt
 *      it, and so on, with one frame for each signal, until the stack is used up. So it returns.
 *      Nothing is lost: the first handler looks for everything that there is to do after that.
 */
#include "linux.h"
#include "port_tools.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NO_STACK 0x40 /* not a flag of sigaltstack */
#define SET_BYTES sizeof(uint64_t)

void frame_leave(void *frame)
{
    ucontext_t *context = frame;
    const uint64_t all = ~UINT64_C(0);
    uint64_t mask;
    if (!signals_mask_common(&mask)) {
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, SET_BYTES);
    }
    memcpy(&context->uc_sigmask, &mask, SET_BYTES);
    context->uc_stack.ss_flags = NO_STACK;
}

static __thread enum frame_opening opening __attribute__((tls_model("initial-exec")));

void frame_open(const void *frame, enum frame_opening what)
{
    const ucontext_t *context = frame;
    RT_ASSERT(opening == OPENS_NOTHING || what == OPENS_CANCEL);
    opening = port_tls_own ? what : OPENS_NOTHING; /* shared: others would find it */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &context->uc_sigmask, NULL, SET_BYTES);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    opening = OPENS_NOTHING;
}

enum frame_opening frame_opens(void)
{
    return opening;
}

/* The flag in the frame says how the stack was set up, not whether it was in use. */
static bool is_on(const stack_t *stack, uintptr_t at)
{
    return at - (uintptr_t)stack->ss_sp < stack->ss_size;
}

bool frame_interrupts_signal_stack(const void *frame)
{
    const ucontext_t *context = frame;
    return is_on(&context->uc_stack, PORT_ARCH_SIGNAL_SP(context));
}

bool frame_on_signal_stack(const void *frame)
{
    const ucontext_t *context = frame;
    return is_on(&context->uc_stack, (uintptr_t)__builtin_frame_address(0));
}

bool on_signal_stack(void)
{
    stack_t now;
    return syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
}

/* Does the caller block even the runtime's signals? Only the runtime's handlers on the signal stack
 * do, and code that runs no thread. */
static bool is_deaf(void)
{
    uint64_t mask;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SET_BYTES);
    return (~mask & port_signals_own()) == 0;
}

const char *port_switch_refused(struct cpu *cpu)
{
    const struct port_carrier *port = rt_carrier_port(rt_cpu_carrier(cpu));
    const char *why = port->tid != (int)syscall(SYS_gettid) ? "another kernel thread carries it"
                      : rt_cpu_port(cpu)->carrier != port   ? "its record names another carrier"
                      : on_signal_stack() ? "this is the signal stack of its carrier"
                      : is_deaf()         ? "its carrier blocks the runtime's signals"
                                          : NULL;
    return why;
}
