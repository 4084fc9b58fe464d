/* SPDX-License-Identifier: MIT */
/*
 * sched.h (boards) - scheduling, after POSIX.1-2017. The classes SCHED_FIFO, SCHED_RR and
 * SCHED_OTHER, and struct sched_param, are the C library's. There is one process, so functions that
 * schedule processes are missing; <pthread.h> schedules its threads.
 *
 * Context: threads and interrupt handlers, sched_yield threads only. No cancellation points.
 */
#ifndef PIRN_BARE_SCHED_H
#define PIRN_BARE_SCHED_H

#include <sys/cdefs.h>
#include <sys/sched.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Let another ready thread of the same or a higher priority run. Returns 0. (XSH sched_yield) */
int sched_yield(void);

/* The range of priorities of a class: 1 to 99 for SCHED_FIFO and SCHED_RR, 0 for SCHED_OTHER. -1
 * and EINVAL: no such class. (XSH sched_get_priority_max) */
int sched_get_priority_max(int policy);
int sched_get_priority_min(int policy);

/* The length of a slice of SCHED_RR (option PIRN_SLICE). process: 0 or 1. 0; -1 and ESRCH: another
 * process; -1 and EINVAL: a negative number. (XSH sched_rr_get_interval) */
int sched_rr_get_interval(pid_t process, struct timespec *interval);

#ifdef __cplusplus
}
#endif

#endif
