/* SPDX-License-Identifier: MIT */
/*
 * pirn/watchdog.h - boards without an operating system: a watchdog that is petted while every CPU
 * makes progress; and how often cores were interrupted by their timers.
 */
#ifndef PIRN_WATCHDOG_H
#define PIRN_WATCHDOG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on pet() is called about every `period` nanoseconds, if each CPU has made progress since
 * the last time. A CPU makes progress if it
 *   - sleeps because it has no thread to run, or
 *   - has switched from one thread to another, or
 *   - takes interrupts, and preempts threads, or no thread is ready that it could run.
 * So it does not if interrupts stay out there, or if, without preemption, its thread keeps it while
 * others are ready. A thread that computes for ever on a CPU that preempts it, or alone, goes
 * unnoticed. One CPU wakes up for this once a period; the others sleep on.
 *
 * pet() is called with interrupts disabled, as a handler of pirn/irq.h, and may do what these may.
 * It is to make the board's watchdog device wait for another while, longer than two periods. Again
 * with another period or function replaces them; NULL ends it. From threads. 0; -EINVAL: the period
 * is shorter than a millisecond, or longer than an hour. */
int pirn_watchdog(uint64_t period, void (*pet)(void));

/* How often the timer of this core has interrupted it; 0 for a core that there is not. Any context.
 */
uint32_t pirn_timer_interrupts(unsigned core);

#ifdef __cplusplus
}
#endif

#endif
