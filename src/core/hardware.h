/* SPDX-License-Identifier: MIT */
/*
 * hardware.h - queues of ready threads in the hardware, and lines for which threads wait there, for
 * policy hw: port_ready.h has the contract. Between rt_enter and rt_leave. RT_HARDWARE: there may
 * be such hardware. line.h has the waits.
 *
 * Invariant: a thread that was given is READY and its context is saved, as in every policy; its
 * descriptor stays valid until it is taken.
 */
#ifndef PIRN_CORE_HARDWARE_H
#define PIRN_CORE_HARDWARE_H

#include "port_ready.h"

#define RT_HARDWARE PORT_READY

#if RT_HARDWARE
/* Threads that a queue has room for; 0: this machine has no queues. */
ALWAYS_INLINE unsigned hardware_room(void)
{
    return port_ready_room();
}

/* False: the queue is full. */
ALWAYS_INLINE bool hardware_give(struct thread *t)
{
    return port_ready_give(t); /* ORDER(hw) */
}

/* Waits at most so many cycles; NULL: no thread has come. */
ALWAYS_INLINE struct thread *hardware_take(unsigned cycles)
{
    return port_ready_take(cycles); /* ORDER(hw) */
}

/* Threads in all queues, and those that a line has woken. */
ALWAYS_INLINE unsigned hardware_count(void)
{
    return port_ready_count();
}

/* In the child of a fork: threads that wait, and the states of lines, are the parent's. */
ALWAYS_INLINE void hardware_forget(void)
{
    port_line_forget();
}
#endif

#endif
