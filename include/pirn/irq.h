/* SPDX-License-Identifier: MIT */
/*
 * pirn/irq.h - interrupts of devices, on boards without an operating system.
 */
#ifndef PIRN_IRQ_H
#define PIRN_IRQ_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call fn(arg) from now on when the device interrupts. It is called on the core that runs the
 * caller now, unless pirn_irq_set_affinity has chosen another one, on the stack of the interrupted
 * thread (Cortex-M: on one for all handlers). Interrupts are disabled meanwhile, except those of a
 * higher priority (pirn_irq_set_priority). fn must make the device stop interrupting. If it makes a
 * thread ready that has a higher priority than the interrupted one, that thread runs when fn
 * returns, wherever the interrupt came (with preemption, in a discipline with priorities); if fn
 * has itself interrupted a handler, when the outermost one returns. docs/results/board-latency.md
 * has the times, in instructions.
 *
 * A handler may call
 *   - pirn_sem_post, pirn_sem_trywait; sem_post, sem_trywait
 *   - pirn_cond_signal, pirn_cond_broadcast; pthread_cond_signal, pthread_cond_broadcast
 *   - pirn_create and pirn_detach
 *   - the functions of <pirn/flags.h>, <pirn/queue.h> and <pirn/timer.h> that say so
 *   - pirn_irq_attach
 *   - pirn_now, pirn_cpu_self
 *   - pirn_dump
 * It must not wait or yield, nor call functions of the C library that take a lock (malloc, stdio,
 * exit): that ends the program with a message.
 *
 * `source` is the device's number in the interrupt controller. A second call for the same source
 * replaces the handler; with fn NULL the device's interrupt is disabled. A handler that is under
 * way on another core then still runs to its end.
 *
 * Context: threads, handlers. No cancellation point. 0; -EINVAL: the board has no such source, or
 * uses it itself, or the source cannot interrupt the core that pirn_irq_set_affinity has chosen. */
int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg);

#define PIRN_IRQ_PRIORITIES 4u

/* The priority of a source's interrupts, 0 (the default, the lowest) to PIRN_IRQ_PRIORITIES - 1. A
 * handler is interrupted by those of a higher priority that come to its core; those of the same or
 * a lower one wait until it has returned. Of several that wait the core takes the highest first. So
 * at most PIRN_IRQ_PRIORITIES handlers are under way on a core, on top of each other: a thread's
 * stack needs room for the frames of that many (docs/guide/boards.md), which each interrupt checks.
 *
 * All handlers may call the functions named above, at the same time: the library disables
 * interrupts of all priorities for the short time in which it needs that. Data that handlers of
 * different priorities share need atomic operations.
 *
 * Call it before pirn_irq_attach. Context: threads. No cancellation point. 0; -EINVAL: no such
 * source or priority; -EBUSY: a handler is attached; -ENOTSUP: the board's controller does not have
 * this priority. */
int pirn_irq_set_priority(unsigned source, unsigned priority);

/* A source's interrupts come to this CPU (0 to pirn_cpu_count() - 1), whichever thread attaches the
 * handler, and even if it is attached already. A handler that is under way on another one runs to
 * its end there. Where several sources share a line to the cores (malta-p5600: all), all of them
 * move.
 *
 * Context: threads. No cancellation point. 0; -EINVAL: no such source or CPU; -ENOTSUP: the source
 * belongs to another core (ARM: numbers below 32, of which each core has its own). */
int pirn_irq_set_affinity(unsigned source, unsigned cpu);

#ifdef __cplusplus
}
#endif

#endif
