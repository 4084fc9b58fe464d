/* SPDX-License-Identifier: MIT */
/*
 * port_preempt.h - ticks that end a thread's turn, and interrupts.
 *
 * PORT_PREEMPT (port_env.h): true where a running thread can be interrupted. port_env.h then has,
 * inline:
 *
 *   port_irq_window(s)       between the steps of a long section, without locks, where a thread has
 *                            called the runtime: interrupts that wait come in, unless s says that
 *                            they stay disabled, and no other thread runs on this CPU. Empty where
 *                            no interrupt waits for the runtime
 *   port_cpu_interrupt(cpu)  have a CPU that runs a thread look at what is pending for it. Does
 *                            nothing where an interrupt costs more than waiting for the CPU's next
 *                            tick or call
 *   port_may_switch()        false in an interrupt handler, which the core must not leave
 *   PORT_SMALL_STACKS        true where a thread is not switched by ticks while its stack lacks the
 *                            room for that: stacks that the program provides may be small
 *   PORT_EXPIRE_MOST         how many timers expire in one section, at least 1; for the rest
 *                            another tick is asked for, at once
 */
#ifndef PIRN_PORT_PREEMPT_H
#define PIRN_PORT_PREEMPT_H

#include "port.h"

#include <errno.h>

#if PORT_PREEMPT
/* Carriers that begin after this call rt_preempt for a user thread that has run for a whole tick of
 * CPU time without a switch; never between port_irq_save and port_irq_restore, nor inside a library
 * that the runtime and its users share. -ENOTSUP and *why: not possible here. */
int port_preempt_start(uint64_t tick_ns, const char **why);

/* Most bytes of its stack that the preemption of a thread needs. */
size_t port_signal_room(void);
#else
ALWAYS_INLINE int port_preempt_start(uint64_t tick_ns, const char **why)
{
    (void)tick_ns;
    *why = "this port has no ticks";
    return -ENOTSUP;
}

ALWAYS_INLINE size_t port_signal_room(void)
{
    return 0;
}

#define port_irq_window(irq) ((void)(irq))
#define port_cpu_interrupt(cpu) ((void)(cpu))
#define port_may_switch() true
#define PORT_SMALL_STACKS true
#define PORT_EXPIRE_MOST UINT32_MAX
#endif

/*
 * Upcalls.
 *
 * The running thread's slice is over: let the next one run, if there is one. The port calls it on
 * the thread's own stack, in a signal or interrupt handler, with interrupts disabled; it returns
 * when the thread runs again, perhaps on another CPU.
 */
void rt_preempt(void);

/* For hardware interrupts. Is there work that the CPU must look at? The handler of an interrupt has
 * ended: look, and run a thread that is more urgent than the interrupted one. Conditions as for
 * rt_preempt. */
bool rt_cpu_pending(const struct cpu *cpu);
void rt_interrupted(void);

#endif
