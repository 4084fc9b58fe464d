/* SPDX-License-Identifier: MIT
 *
 * Functions that the scheduling programs share: threads in numbers that the system may refuse, and
 * their cost.
 */
#ifndef APPS_SCHEDULING_CROWD_H
#define APPS_SCHEDULING_CROWD_H

#include <pthread.h>

/* Thread number `index` (from 0) of `count`, with a small stack. If it is refused, the
 * process ends with status 1 and says which one it was. */
void crowd_start(pthread_t *thread, void *(*entry)(void *), void *arg, long index, long count);

/* Wall-clock time and processor time of the process, in seconds. */
struct cost {
    double wall, cpu, system; /* system: the part of cpu that was spent in the kernel */
};

/* Time since an arbitrary start; take the difference of two calls. */
struct cost cost_now(void);
struct cost cost_since(struct cost before);

#endif
