/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex.c - mutexes: the plain one of src/sync with an owner where the type asks for one; and
 * the way to the others (posix_mutex_owned.c, posix_mutex_shared.c).
 *
 * owner and count belong to whoever holds the word. Others read owner only to compare it with
 * themselves: only its holder can see itself there, so relaxed accesses do.
 */
#include <errno.h>

#include "posix_mutex.h"

_Static_assert(sizeof(struct rt_mutex) <= sizeof(pthread_mutex_t), "pthread_mutex_t");

int pirn_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    uint32_t kind = PTHREAD_MUTEX_NORMAL;
    int error = attr != NULL ? mutex_kind_of(attr, &kind) : 0;
    if (error != 0) {
        return error;
    }
    if (POSIX_PROCESSES && (kind & MUTEX_SHARED)) {
        shmutex_init(SHMUTEX(mutex), kind);
    } else if (RT_OWNED && kind > MUTEX_TYPE) {
        omutex_init(OMUTEX(mutex), kind, attr);
    } else {
        rt_mutex_init(MUTEX(mutex));
        MUTEX(mutex)->kind = kind;
    }
    return 0;
}

int pirn_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    if (m->kind > MUTEX_TYPE) {
        return mutex_is_omutex(m)   ? omutex_destroy(OMUTEX(m))
               : mutex_is_shared(m) ? shmutex_destroy(SHMUTEX(m))
                                    : EINVAL;
    }
    if (rt_mutex_is_locked(m)) {
        return EBUSY;
    }
    m->kind = MUTEX_DESTROYED;
    return 0;
}

/* The word alone. */
static int word_lock(struct rt_mutex *m, const struct posix_limit *limit)
{
    uint64_t deadline = UINT64_MAX;
    if (rt_mutex_trylock(m) == 0) {
        return 0;
    }
    if (limit != NULL) {
        int error = posix_deadline(limit, &deadline);
        if (error != 0) {
            return error;
        }
    }
    return -rt_mutex_lock_until(m, deadline);
}

/* The caller has it already. */
static int lock_again(struct rt_mutex *m, int busy)
{
    if (m->kind != PTHREAD_MUTEX_RECURSIVE) {
        return busy;
    }
    if (m->count == UINT32_MAX) {
        return EAGAIN;
    }
    m->count++;
    return 0;
}

static COLD int owned_lock(struct rt_mutex *m, const struct posix_limit *limit)
{
    if (m->kind > MUTEX_TYPE) {
        return mutex_is_omutex(m)   ? omutex_lock(OMUTEX(m), limit)
               : mutex_is_shared(m) ? shmutex_lock(SHMUTEX(m), limit)
                                    : EINVAL;
    }
    if (!mutex_is_owned(m)) {
        return word_lock(m, limit);
    }
    struct thread *self = rt_identity();
    if (mutex_owner(m) == self) {
        return lock_again(m, EDEADLK);
    }
    int error = word_lock(m, limit);
    if (error == 0) {
        mutex_take(m, self, 1);
    }
    return error;
}

int pirn_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    if (unlikely(m->kind != PTHREAD_MUTEX_NORMAL)) {
        return owned_lock(m, NULL);
    }
    return rt_mutex_lock_fast(m) ? 0 : rt_mutex_lock_until(m, UINT64_MAX);
}

int pirn_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                 const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    if (!posix_clock_valid(clock)) {
        return EINVAL;
    }
    return owned_lock(MUTEX(mutex), &limit);
}

int pirn_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *abstime)
{
    return pirn_pthread_mutex_clocklock(mutex, CLOCK_REALTIME, abstime);
}

static COLD int owned_trylock(struct rt_mutex *m)
{
    if (m->kind > MUTEX_TYPE) {
        return mutex_is_omutex(m)   ? omutex_trylock(OMUTEX(m))
               : mutex_is_shared(m) ? shmutex_trylock(SHMUTEX(m))
                                    : EINVAL;
    }
    struct thread *self = rt_identity();
    if (mutex_is_owned(m) && mutex_owner(m) == self) {
        return lock_again(m, EBUSY);
    }
    int error = -rt_mutex_trylock(m);
    if (error == 0 && mutex_is_owned(m)) {
        mutex_take(m, self, 1);
    }
    return error;
}

int pirn_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    return likely(m->kind == PTHREAD_MUTEX_NORMAL) ? -rt_mutex_trylock(m) : owned_trylock(m);
}

static COLD int owned_unlock(struct rt_mutex *m)
{
    if (m->kind > MUTEX_TYPE) {
        return mutex_is_omutex(m)   ? omutex_unlock(OMUTEX(m))
               : mutex_is_shared(m) ? shmutex_unlock(SHMUTEX(m))
                                    : EINVAL;
    }
    if (mutex_is_owned(m)) {
        if (mutex_owner(m) != rt_identity()) {
            return EPERM;
        }
        if (--m->count != 0) {
            return 0;
        }
        mutex_take(m, NULL, 0);
    }
    rt_mutex_unlock(m);
    return 0;
}

int pirn_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    if (unlikely(m->kind != PTHREAD_MUTEX_NORMAL)) {
        return owned_unlock(m);
    }
    if (!rt_mutex_unlock_fast(m)) {
        rt_mutex_unlock_slow(m);
    }
    return 0;
}
