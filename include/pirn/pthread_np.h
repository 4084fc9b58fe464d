/* SPDX-License-Identifier: MIT */
/*
 * pthread_np.h - functions of libpirn-pthread that neither POSIX nor the C library's <pthread.h>
 * has. Other systems' pthreads have these names (HP-UX, Tru64, IRIX). A program that uses them
 * needs this library.
 */
#ifndef PIRN_PTHREAD_NP_H
#define PIRN_PTHREAD_NP_H

#include <pthread.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Suspend the calling thread for at least `interval`. 0, or EINVAL (tv_nsec is not below 1e9, or a
 * field is negative). Other threads of its worker run meanwhile. A cancellation point. From
 * threads; not from signal handlers. */
int pthread_delay_np(const struct timespec *interval);

/* The number of processors that run threads: the number of workers (PIRN_CPUS), at least 1. Starts
 * the runtime if necessary. From threads; not from signal handlers. No cancellation point. */
int pthread_num_processors_np(void);

/* The weight of a thread among those of SCHED_OTHER: 1 to 100, default 10. A thread of weight 20
 * runs twice as long as one of weight 10. 0, EINVAL (weight), ENOTSUP (the discipline has no
 * classes: PIRN_SCHED). From threads; not from signal handlers. No cancellation point. */
int pthread_setweight_np(pthread_t thread, unsigned weight);
int pthread_getweight_np(pthread_t thread, unsigned *weight);

#ifdef __cplusplus
}
#endif

#endif
