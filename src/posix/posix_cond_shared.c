/* SPDX-License-Identifier: MIT */
/*
 * posix_cond_shared.c - waiting on a condition variable between processes. The ticket is taken
 * before the mutex is released; the mutex may be of any kind, also one of this process alone.
 */
#include <errno.h>

#include "posix_mutex.h"

_Static_assert(sizeof(struct rt_shcond) <= sizeof(pthread_cond_t), "pthread_cond_t");

/* Released whole: 0, EPERM, EINVAL. */
static int release(struct rt_mutex *m, uint32_t *count)
{
    if (mutex_is_omutex(m)) {
        return omutex_release((struct rt_omutex *)m, count);
    }
    if (mutex_is_shared(m)) {
        return shmutex_release((struct rt_shmutex *)m, count);
    }
    if (m->kind > MUTEX_TYPE) {
        return EINVAL;
    }
    if (mutex_is_owned(m)) {
        if (mutex_owner(m) != rt_self()) {
            return EPERM;
        }
        *count = m->count;
        mutex_take(m, NULL, 0);
    }
    rt_mutex_unlock(m);
    return 0;
}

/* And taken back: 0, EOWNERDEAD, ENOTRECOVERABLE. */
static int retake(struct rt_mutex *m, uint32_t count)
{
    if (mutex_is_omutex(m)) {
        return omutex_retake((struct rt_omutex *)m, count);
    }
    if (mutex_is_shared(m)) {
        shmutex_retake((struct rt_shmutex *)m, count);
        return 0;
    }
    rt_mutex_lock_until(m, UINT64_MAX);
    if (mutex_is_owned(m)) {
        mutex_take(m, rt_self(), count);
    }
    return 0;
}

int shcond_wait(struct rt_shcond *c, struct rt_mutex *m, const struct posix_limit *limit)
{
    struct rt_shared_limit shared;
    uint32_t count = 0;
    int past = limit != NULL ? posix_shared_limit(limit, &shared) : 0;
    if (past == EINVAL) {
        return EINVAL;
    }
    uint32_t ticket = rt_shcond_enter(c);
    int error = release(m, &count);
    if (error != 0 || past != 0) {
        rt_shcond_leave(c);
    }
    if (error != 0) {
        return error;
    }
    if (past == 0) {
        past = -rt_shcond_wait(c, ticket, limit != NULL ? &shared : NULL);
    }
    error = retake(m, count);
    return error != 0 ? error : past;
}
