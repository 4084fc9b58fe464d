/* SPDX-License-Identifier: MIT */
/* timers.h - software timers, and the thread that calls their functions: timers.c. */
#ifndef PIRN_SYNC_TIMERS_H
#define PIRN_SYNC_TIMERS_H

#include "timer.h"

#define RT_TIMER_PERIOD_MAX (UINT64_C(1) << 62)

struct rt_timer {
    struct timer expiry;   /* (T) armed: the timer is started */
    uint64_t period;       /* (T) ns; 0: once */
    void (*fn)(void *arg); /* (C) */
    void *arg;             /* (C) */
    uint32_t missed;       /* (T) expiries that passed before the latest call began */
};

/* The timers' thread is created once: true if the caller is to do it, with rt_timers_run as its
 * function. Then it says which thread it is; NULL: none, and another caller may try. */
bool rt_timers_claim(void);
void rt_timers_claimed(struct thread *thread);
void *rt_timers_run(void *unused);

void rt_timer_init(struct rt_timer *t, void (*fn)(void *arg), void *arg);
int rt_timer_start(struct rt_timer *t, uint64_t deadline, uint64_t period); /* 0, -EINVAL */
bool rt_timer_stop(struct rt_timer *t);
bool rt_timer_stop_sync(struct rt_timer *t);
uint64_t rt_timer_deadline(struct rt_timer *t);
uint32_t rt_timer_overruns(struct rt_timer *t);

/* Forget the thread and all timers: in the child of a fork, between runs of the simulator. */
void rt_timers_reset(void);

#ifdef PIRN_SIM
/* The run is about to end: end the thread, if there is one. */
void rt_timers_end(void);
#endif

#endif
