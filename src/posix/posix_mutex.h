/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex.h - shared by the mutexes and the condition variables: kinds of mutexes.
 *
 * kind is the type (PTHREAD_MUTEX_NORMAL ... _ADAPTIVE_NP) and the bits of omutex.h. Normal and
 * adaptive mutexes without a bit are struct rt_mutex, and so are recursive and error-checking ones,
 * with `owner` (posix_mutex.c); those with a bit of omutex.h are struct rt_omutex
 * (posix_mutex_owned.c), those with MUTEX_SHARED alone struct rt_shmutex (posix_mutex_shared.c).
 * Other kinds do not exist.
 */
#ifndef PIRN_POSIX_MUTEX_H
#define PIRN_POSIX_MUTEX_H

#include "../sync/omutex.h"
#include "../sync/shared.h"
#include "posix.h"

#define MUTEX(mutex) ((struct rt_mutex *)(mutex))
#define OMUTEX(mutex) ((struct rt_omutex *)(mutex))

#define SHMUTEX(mutex) ((struct rt_shmutex *)(mutex))

#define MUTEX_TYPE 3u
#define MUTEX_SHARED 128u /* as in glibc */
/* Lock elision allowed or not: where a process with the C library's threads has made the mutex. */
#define MUTEX_ELISION 768u

/* Kind of a destroyed mutex: every operation says EINVAL. */
#define MUTEX_DESTROYED UINT32_MAX

/* The priorities of SCHED_FIFO and SCHED_RR. */
#define MUTEX_CEILING_MIN 1
#define MUTEX_CEILING_MAX 99

ALWAYS_INLINE bool mutex_ceiling_valid(int ceiling)
{
    return ceiling >= MUTEX_CEILING_MIN && ceiling <= MUTEX_CEILING_MAX;
}

/* 0, EINVAL (a destroyed attribute), ENOTSUP (such a mutex does not exist). */
int mutex_kind_of(const pthread_mutexattr_t *attr, uint32_t *kind);

ALWAYS_INLINE bool mutex_is_owned(const struct rt_mutex *m)
{
    return m->kind == PTHREAD_MUTEX_RECURSIVE || m->kind == PTHREAD_MUTEX_ERRORCHECK;
}

ALWAYS_INLINE bool mutex_is_omutex(const struct rt_mutex *m)
{
    const uint32_t bits = OM_ROBUST | OM_INHERIT | OM_PROTECT;
    return RT_OWNED && (m->kind & bits) != 0 && (m->kind & ~(bits | MUTEX_TYPE)) == 0;
}

ALWAYS_INLINE struct thread *mutex_owner(struct rt_mutex *m)
{
    return at_load_rlx((_Atomic(void *) *)&m->owner);
}

ALWAYS_INLINE void mutex_take(struct rt_mutex *m, struct thread *owner, uint32_t count)
{
    m->count = count;
    at_store_rlx((_Atomic(void *) *)&m->owner, (void *)owner);
}

ALWAYS_INLINE bool mutex_is_shared(const struct rt_mutex *m)
{
    return POSIX_PROCESSES && (m->kind & ~(MUTEX_TYPE | MUTEX_ELISION)) == MUTEX_SHARED;
}

/* The pthread functions for struct rt_omutex. */
void omutex_init(struct rt_omutex *m, uint32_t kind, const pthread_mutexattr_t *attr);
int omutex_destroy(struct rt_omutex *m);
int omutex_lock(struct rt_omutex *m, const struct posix_limit *limit);
int omutex_trylock(struct rt_omutex *m);
int omutex_unlock(struct rt_omutex *m);
int omutex_cond_wait(struct rt_cond *c, struct rt_omutex *m, uint64_t deadline);
int omutex_release(struct rt_omutex *m, uint32_t *count); /* whole, for a condition; 0, EPERM */
int omutex_retake(struct rt_omutex *m, uint32_t count);

/* And for struct rt_shmutex. */
void shmutex_init(struct rt_shmutex *m, uint32_t kind);
int shmutex_destroy(struct rt_shmutex *m);
int shmutex_lock(struct rt_shmutex *m, const struct posix_limit *limit);
int shmutex_trylock(struct rt_shmutex *m);
int shmutex_unlock(struct rt_shmutex *m);
int shmutex_cond_wait(struct rt_cond *c, struct rt_shmutex *m, uint64_t deadline);
int shmutex_release(struct rt_shmutex *m, uint32_t *count);
void shmutex_retake(struct rt_shmutex *m, uint32_t count);

/* Wait on a condition variable between processes, with whatever mutex. */
int shcond_wait(struct rt_shcond *c, struct rt_mutex *m, const struct posix_limit *limit);

#endif
