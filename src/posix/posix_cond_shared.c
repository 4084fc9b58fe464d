/* SPDX-License-Identifier: MIT */
/*
 * posix_cond_shared.c - waiting on a condition variable between processes. The waiter takes its
 * ticket before it releases the mutex. The mutex may be of any kind, including one that only this
 * process uses.
 */
#include <errno.h>

#include "posix_mutex.h"

int shcond_wait(struct rt_shcond *c, struct rt_mutex *m, const struct posix_limit *limit)
{
    struct rt_shared_limit shared;
    uint32_t count = 0;
    int past = limit != NULL ? posix_shared_limit(limit, &shared) : 0;
    if (past == EINVAL) {
        return EINVAL;
    }
    uint32_t ticket = rt_shcond_enter(c);
    int error = mutex_release(m, &count);
    if (error != 0 || past != 0) {
        rt_shcond_leave(c);
    }
    if (error != 0) {
        return error;
    }
    if (past == 0) {
        past = -rt_shcond_wait(c, ticket, limit != NULL ? &shared : NULL);
    }
    error = mutex_retake(m, count);
    return error != 0 ? error : past;
}
