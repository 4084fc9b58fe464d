/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex.h - mutexes as condition variables use them, and the functions of each form.
 *
 * posix_mutex.c has the pthread functions. They look up the form of a mutex (sync/mutex_kind.h) and
 * call the functions of that form: those of posix_mutex.c for a struct rt_mutex, of
 * posix_mutex_owned.c for a struct rt_omutex, of posix_mutex_shared.c for a struct rt_shmutex. With
 * a mutex of no form every function returns EINVAL.
 */
#ifndef PIRN_POSIX_MUTEX_H
#define PIRN_POSIX_MUTEX_H

#include "../sync/omutex.h"
#include "../sync/shared.h"
#include "posix.h"

#define MUTEX(mutex) ((struct rt_mutex *)(mutex))
#define OMUTEX(mutex) ((struct rt_omutex *)(mutex))
#define SHMUTEX(mutex) ((struct rt_shmutex *)(mutex))

/* The range of priorities of SCHED_FIFO and SCHED_RR. */
#define MUTEX_CEILING_MIN 1
#define MUTEX_CEILING_MAX 99

ALWAYS_INLINE bool mutex_ceiling_valid(int ceiling)
{
    return ceiling >= MUTEX_CEILING_MIN && ceiling <= MUTEX_CEILING_MAX;
}

/* The kind that the attribute describes. 0, EINVAL (a destroyed attribute), ENOTSUP (no form has
 * this combination). */
int mutex_kind_of(const pthread_mutexattr_t *attr, uint32_t *kind);

/* Wait on a condition variable of this process: release the mutex completely, whatever its count,
 * and take it back with the same count. EPERM: the mutex has an owner, and the caller is not it. */
int mutex_cond_wait(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline);

/* The two halves of that, for a condition variable between processes. release: 0, EPERM, EINVAL;
 * retake: 0, EOWNERDEAD, ENOTRECOVERABLE. */
int mutex_release(struct rt_mutex *m, uint32_t *count);
int mutex_retake(struct rt_mutex *m, uint32_t count);

/* The pthread functions for struct rt_omutex. */
void omutex_init(struct rt_omutex *m, uint32_t kind, const pthread_mutexattr_t *attr);
int omutex_destroy(struct rt_omutex *m);
int omutex_lock(struct rt_omutex *m, const struct posix_limit *limit);
int omutex_trylock(struct rt_omutex *m);
int omutex_unlock(struct rt_omutex *m);
int omutex_cond_wait(struct rt_cond *c, struct rt_omutex *m, uint64_t deadline);
int omutex_release(struct rt_omutex *m, uint32_t *count);
int omutex_retake(struct rt_omutex *m, uint32_t count);

/* The pthread functions for struct rt_shmutex. */
int shmutex_init(struct rt_shmutex *m, uint32_t kind);
int shmutex_destroy(struct rt_shmutex *m);
int shmutex_lock(struct rt_shmutex *m, const struct posix_limit *limit);
int shmutex_trylock(struct rt_shmutex *m);
int shmutex_unlock(struct rt_shmutex *m);
int shmutex_cond_wait(struct rt_cond *c, struct rt_shmutex *m, uint64_t deadline);
int shmutex_release(struct rt_shmutex *m, uint32_t *count);
int shmutex_retake(struct rt_shmutex *m, uint32_t count);
int shmutex_consistent(struct rt_shmutex *m);

/* Wait on a condition variable between processes, with a mutex of any form. limit may be NULL. */
int shcond_wait(struct rt_shcond *c, struct rt_mutex *m, const struct posix_limit *limit);

#endif
