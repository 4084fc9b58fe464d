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

/* A set of CPUs, for pthread_setaffinity_np. (GNU; CPU_SET(3)) */
#define CPU_SETSIZE 32
typedef struct {
    __uint32_t __bits;
} cpu_set_t;

#define __CPU_BIT(cpu) ((unsigned)(cpu) < CPU_SETSIZE ? (__uint32_t)1 << (cpu) : (__uint32_t)0)
#define CPU_ZERO(set) ((void)((set)->__bits = 0))
#define CPU_SET(cpu, set) ((void)((set)->__bits |= __CPU_BIT(cpu)))
#define CPU_CLR(cpu, set) ((void)((set)->__bits &= ~__CPU_BIT(cpu)))
#define CPU_ISSET(cpu, set) (((set)->__bits & __CPU_BIT(cpu)) != 0)
#define CPU_COUNT(set) __builtin_popcount((unsigned)(set)->__bits)
#define CPU_EQUAL(a, b) ((a)->__bits == (b)->__bits)

#ifdef __cplusplus
}
#endif

#endif
