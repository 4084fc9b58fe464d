/* SPDX-License-Identifier: MIT */
/*
 * posix_cond.c - condition variables and their attributes.
 *
 * An attribute is a word of flags; a condition variable has the same in `flags`:
 *   FLAG_MONOTONIC   timedwait uses CLOCK_MONOTONIC
 *   FLAG_SHARED      shared between processes: a struct rt_shcond, which works with any mutex
 */
#include <errno.h>

#include "posix_mutex.h"

_Static_assert(!POSIX_PROCESSES ||
                   offsetof(struct rt_shcond, flags) == offsetof(struct rt_cond, flags),
               "flags");

enum { FLAG_SHARED = 1, FLAG_MONOTONIC = 2 };

#define COND(cond) ((struct rt_cond *)(cond))
#define SHCOND(cond) ((struct rt_shcond *)(cond))
#define FLAGS(attr) (*(uint32_t *)(attr))
#define CONST_FLAGS(attr) (*(const uint32_t *)(attr))

int pirn_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    rt_cond_init(COND(cond));
    COND(cond)->flags = attr != NULL ? CONST_FLAGS(attr) : 0;
    return 0;
}

ALWAYS_INLINE bool is_shared(const pthread_cond_t *cond)
{
    return POSIX_PROCESSES && unlikely(((const struct rt_cond *)cond)->flags & FLAG_SHARED);
}

int pirn_pthread_cond_destroy(pthread_cond_t *cond)
{
    if (is_shared(cond)) {
        rt_shcond_destroy(SHCOND(cond));
        return 0;
    }
    return -rt_cond_destroy(COND(cond));
}

ALWAYS_INLINE int wait_until(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline)
{
    return likely(m->kind == MUTEX_NORMAL) ? -rt_cond_wait_point(c, m, deadline)
                                           : mutex_cond_wait(c, m, deadline);
}

/* The caller has the mutex again, because its cleanup handlers unlock it. */
ALWAYS_INLINE int waited(int error)
{
    if (unlikely(error == ECANCELED)) {
        posix_point();
    }
    return error;
}

int pirn_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    posix_point();
    if (is_shared(cond)) {
        return waited(shcond_wait(SHCOND(cond), MUTEX(mutex), NULL));
    }
    return waited(wait_until(COND(cond), MUTEX(mutex), UINT64_MAX));
}

int pirn_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    uint64_t deadline;
    if (posix_deadline(&limit, &deadline) == EINVAL) {
        return EINVAL;
    }
    posix_point();
    if (is_shared(cond)) {
        return waited(shcond_wait(SHCOND(cond), MUTEX(mutex), &limit));
    }
    return waited(wait_until(COND(cond), MUTEX(mutex), deadline));
}

int pirn_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                const struct timespec *abstime)
{
    clockid_t clock = COND(cond)->flags & FLAG_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return pirn_pthread_cond_clockwait(cond, mutex, clock, abstime);
}

int pirn_pthread_cond_signal(pthread_cond_t *cond)
{
    if (is_shared(cond)) {
        rt_shcond_wake(SHCOND(cond), 1);
    } else {
        rt_cond_signal(COND(cond));
    }
    return 0;
}

int pirn_pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (is_shared(cond)) {
        rt_shcond_wake(SHCOND(cond), RT_SHARED_ALL);
    } else {
        rt_cond_broadcast(COND(cond));
    }
    return 0;
}

int pirn_pthread_condattr_init(pthread_condattr_t *attr)
{
    FLAGS(attr) = 0;
    return 0;
}

int pirn_pthread_condattr_destroy(pthread_condattr_t *attr)
{
    (void)attr;
    return 0;
}

int pirn_pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock)
{
    if (!posix_clock_valid(clock)) {
        return EINVAL;
    }
    FLAGS(attr) = (FLAGS(attr) & FLAG_SHARED) | (clock == CLOCK_MONOTONIC ? FLAG_MONOTONIC : 0);
    return 0;
}

int pirn_pthread_condattr_getclock(const pthread_condattr_t *attr, clockid_t *clock)
{
    *clock = CONST_FLAGS(attr) & FLAG_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return 0;
}

int pirn_pthread_condattr_setpshared(pthread_condattr_t *attr, int shared)
{
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    FLAGS(attr) =
        (FLAGS(attr) & FLAG_MONOTONIC) | (shared == PTHREAD_PROCESS_SHARED ? FLAG_SHARED : 0);
    return 0;
}

int pirn_pthread_condattr_getpshared(const pthread_condattr_t *attr, int *shared)
{
    *shared = CONST_FLAGS(attr) & FLAG_SHARED ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    return 0;
}
