/* SPDX-License-Identifier: MIT */
/*
 * pirn/irq.h - interrupts of devices, on boards without an operating system.
 */
#ifndef PIRN_IRQ_H
#define PIRN_IRQ_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call fn(arg) from now on when the device interrupts. It is called with interrupts disabled, on
 * the core that runs the caller now, on the stack of the interrupted thread. fn must make the
 * device stop interrupting. If it makes a thread ready that has a higher priority than the
 * interrupted one, that thread runs when fn returns, wherever the interrupt came (with preemption,
 * in a discipline with priorities). docs/results/board-latency.md has the times, in instructions.
 *
 * A handler may call
 *   - pirn_sem_post, pirn_sem_trywait; sem_post, sem_trywait
 *   - pirn_cond_signal, pirn_cond_broadcast; pthread_cond_signal, pthread_cond_broadcast
 *   - pirn_create and pirn_detach
 *   - the functions of <pirn/flags.h>, <pirn/queue.h> and <pirn/timer.h> that say so
 *   - pirn_now, pirn_cpu_self
 *   - pirn_dump
 * It must not wait or yield, nor call functions of the C library that take a lock (malloc, stdio,
 * exit): that ends the program with a message.
 *
 * `source` is the device's number in the interrupt controller. A second call for the same source
 * replaces the handler; with fn NULL the device's interrupt is disabled.
 *
 * Context: threads. No cancellation point. 0; -EINVAL: the board has no such source, or uses it
 * itself. */
int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
