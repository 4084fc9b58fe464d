/* SPDX-License-Identifier: MIT */
/*
 * timer.h - software timers: functions that are called at a time, once or periodically. One thread
 * of the runtime's calls them all, one after the other.
 *
 *     #include <pirn/timer.h>
 *
 *     static pirn_timer_t blink;
 *
 *     pirn_timer_init(&blink, toggle, &led);
 *     pirn_timer_start(&blink, pirn_now() + 500 * MS, 500 * MS);
 *
 * The conventions are those of pirn.h; times are ns of pirn_now(). A library that is built without
 * the feature "timed" (docs/guide/boards.md, small systems) has no timers. (After CMSIS-RTOS2
 * osTimer, ThreadX tx_timer and POSIX timer_settime.)
 */
#ifndef PIRN_TIMER_H
#define PIRN_TIMER_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The thread that calls the functions of all timers is created with the first one, and named
 * "timers". It may be preempted, and may wait, but while a function runs or waits the others are
 * late. It never ends, and does not keep the program running: that ends when main returns, or with
 * the last other thread.
 */
typedef struct pirn_timer {
    uint64_t opaque[10];
} pirn_timer_t;

/*
 * Create the timers' thread, before the first timer, with the stack, priority and name of `attr`
 * (as pirn_create; `detached` has no effect). Without this call the first pirn_timer_init creates
 * it with the default stack, and with the class and priority of its caller. It blocks the signals
 * that its creator blocks.
 *
 * 0, -EBUSY: the thread exists; else as pirn_create, and the call may be repeated. Context:
 * threads. No cancellation point.
 */
int pirn_timer_setup(const pirn_attr_t *attr);

/*
 * Set up a timer, stopped, which will call fn(arg) in the timers' thread. The timer must not be
 * running. fn may use every function of this header, also for its own timer, and may free the
 * timer's memory once it is stopped; it must not end the thread.
 *
 * 0, -EINVAL: fn is NULL; -EAGAIN: no memory for the timers' thread. Context: threads. No
 * cancellation point. In the child of a fork all timers must be set up again.
 */
int pirn_timer_init(pirn_timer_t *timer, void (*fn)(void *arg), void *arg);

/*
 * Start the timer, or start it again, whatever it was started for before: it expires at `deadline`
 * (at once if that has passed; PIRN_FOREVER: never), and then every `period` ns, or only once if
 * `period` is 0. Periods do not drift: the n-th expiry is due at deadline + n * period, however
 * late the earlier ones were. Expiries that pass before the function could be called for them are
 * not made up for: one call stands for all, and pirn_timer_overruns counts the others.
 *
 * 0, -EINVAL: the timer was not set up, or the period is above 2^62. Context: threads; interrupt
 * handlers on boards. No cancellation point.
 */
int pirn_timer_start(pirn_timer_t *timer, uint64_t deadline, uint64_t period);

/*
 * Stop the timer: it does not expire from now on, until it is started again. A call of its function
 * for an earlier expiry may still run, or be about to begin. True if the timer had been started and
 * was not a one-shot timer that has expired. Context: as pirn_timer_start.
 *
 * pirn_timer_stop_sync also waits until no such call runs, and stops the timer again if that one
 * has started it. Afterwards the timer's memory may be used for something else. If the timer's own
 * function calls it, it does not wait. Context: threads. No cancellation point.
 */
bool pirn_timer_stop(pirn_timer_t *timer);
bool pirn_timer_stop_sync(pirn_timer_t *timer);

/* When the timer expires next; PIRN_FOREVER: it is stopped. Context: as pirn_timer_start. */
uint64_t pirn_timer_deadline(pirn_timer_t *timer);

/* For how many expiries beside its own the function's latest call stands: of a periodic timer,
 * those that had passed when the call began. 0 if it was in time. At most UINT32_MAX. (After POSIX
 * timer_getoverrun.) Context: as pirn_timer_start; the answer is exact in the timer's function. */
uint32_t pirn_timer_overruns(pirn_timer_t *timer);

#ifdef __cplusplus
}
#endif

#endif
