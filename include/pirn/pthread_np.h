/* SPDX-License-Identifier: MIT */
/*
 * pthread_np.h - functions of libpirn-pthread that neither POSIX nor the C library's <pthread.h>
 * has. Other systems' pthreads have these names (HP-UX, Tru64, IRIX). A program that uses them
 * needs this library.
 */
#ifndef PIRN_PTHREAD_NP_H
#define PIRN_PTHREAD_NP_H

#include <pthread.h>
#include <stdint.h>
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

/* Task affinity: `consumer` reads what `producer` writes. If a policy with the option affinity runs
 * (PIRN_SCHED=steal:affinity=declared), a consumer that wakes goes to a CPU whose current or last
 * thread is one of its producers. Otherwise the dependency is recorded and has no effect. Adding
 * one that exists changes nothing; it ends with either thread. 0, ESRCH (a thread has ended, or
 * there never was one), EINVAL (add: the thread itself), ELOOP (add: the producer depends on the
 * consumer, directly or through others), ENOSPC (add: it has 16 producers), ENOMEM (add: its first
 * one), ENOENT (del: there is no such dependency), ENOTSUP (the library was built without task
 * affinity: boards). From threads; not from signal handlers. No cancellation point. */
int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer);
int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer);

/* What a thread demands: pirn_demand_t in <pirn/pirn.h>, with the same members. 0, ESRCH (the
 * thread has ended), EINVAL (NULL; a period above 2^62 ns; a cost above the period), ENOMEM (the
 * first demand of the thread). From threads; not from signal handlers. No cancellation point. */
struct pthread_demand_np {
    uint64_t period_ns, cost_ns; /* of its jobs */
    uint64_t working_set;        /* bytes of the shared cache */
    uint32_t group;              /* threads with the same number share data; 0: with none */
};
int pthread_setdemand_np(pthread_t thread, const struct pthread_demand_np *demand);
int pthread_getdemand_np(pthread_t thread, struct pthread_demand_np *demand);

/* The caller has finished its job and waits for the release of the next one; see pirn_job_wait.
 * *missed (which may be NULL) becomes the number of releases that have passed. 0, or EINVAL: the
 * caller has no period. Signals are handled while it waits. A cancellation point. */
int pthread_job_wait_np(unsigned *missed);

#ifdef __cplusplus
}
#endif

#endif
