/* SPDX-License-Identifier: MIT */
/*
 * pirn/irq.h - interrupts of devices, on boards without an operating system.
 */
#ifndef PIRN_IRQ_H
#define PIRN_IRQ_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on fn(arg) is called when the device interrupts, with interrupts disabled, on the core
 * that runs the caller now, on the stack of whatever thread is interrupted. It has to make the
 * device stop interrupting, and may call what never waits: pirn_sem_post, pirn_cond_signal,
 * pirn_cond_broadcast, pirn_create, pirn_now; no function of the C library that takes a lock
 * (malloc, stdio). A thread that it makes ready, and that is more urgent than the interrupted one,
 * runs when it returns (with preemption, in a discipline with priorities).
 * `source` is the interrupt controller's number of the device. Again with the same one replaces the
 * handler; fn NULL: the device is not heard any more. Call it from threads.
 * 0; -EINVAL: the board has no such source, or needs it itself. */
int pirn_irq_attach(unsigned source, void (*fn)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
