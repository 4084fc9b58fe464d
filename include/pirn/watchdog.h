/* SPDX-License-Identifier: MIT */
/*
 * pirn/watchdog.h - boards without an operating system: a watchdog that is served while every CPU
 * makes progress, and the count of timer interrupts of each core.
 */
#ifndef PIRN_WATCHDOG_H
#define PIRN_WATCHDOG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Call pet() about every `period` nanoseconds from now on, as long as each CPU has made progress
 * since the last time. A CPU makes progress if it
 *   - sleeps, or is about to, because it has no thread to run, or
 *   - has switched from one thread to another, or
 *   - takes interrupts, and either preempts threads or has no other ready thread that it could run.
 * It makes none if interrupts stay disabled, or if, without preemption, its thread keeps running
 * while others are ready. A thread that computes for ever is not noticed if its CPU preempts it, or
 * if no other thread is ready there. One CPU wakes up once a period; the others sleep on.
 *
 * pet() is called with interrupts disabled, as a handler of pirn/irq.h, and may call the same
 * functions. It must restart the board's watchdog device for a time longer than two periods. A
 * second call replaces period and function; pet NULL ends it. From threads. 0; -EINVAL: the period
 * is shorter than a millisecond or longer than an hour. */
int pirn_watchdog(uint64_t period, void (*pet)(void));

/* The number of timer interrupts of this core; 0 for a core that does not exist. Any context. */
uint32_t pirn_timer_interrupts(unsigned core);

#ifdef __cplusplus
}
#endif

#endif
