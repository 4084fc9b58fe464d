/* SPDX-License-Identifier: MIT */
/*
 * semaphore.h (boards) - counting semaphores, after POSIX.1-2017 (XSH sem_init and following).
 *
 * Functions return 0, or -1 and set errno: EINVAL (value above SEM_VALUE_MAX; nanoseconds not below
 * 1e9; an unsupported clock), EAGAIN (trywait), ETIMEDOUT, EOVERFLOW (post), EBUSY (destroy while
 * threads wait). Times are absolute, of CLOCK_REALTIME where no clock is given. Waiters are served
 * by priority, then in order of arrival.
 *
 * Context: threads; sem_post and sem_getvalue also interrupt handlers. Cancellation points are
 * sem_wait, sem_timedwait and sem_clockwait. Named semaphores (sem_open) need an operating system
 * and are missing.
 */
#ifndef PIRN_BARE_SEMAPHORE_H
#define PIRN_BARE_SEMAPHORE_H

#include <limits.h>
#include <sys/_pthreadtypes.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* There is one process, so `shared` has no effect. */
int sem_init(sem_t *sem, int shared, unsigned value);
int sem_destroy(sem_t *sem);
int sem_wait(sem_t *sem);
int sem_trywait(sem_t *sem);
int sem_timedwait(sem_t *__restrict sem, const struct timespec *__restrict time);
int sem_clockwait(sem_t *__restrict sem, clockid_t clock, const struct timespec *__restrict time);
int sem_post(sem_t *sem);
int sem_getvalue(sem_t *__restrict sem, int *__restrict value);

#ifdef __cplusplus
}
#endif

#endif
