/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex_owned.c - robust mutexes, ones with priority inheritance, and ones with a ceiling:
 * what POSIX says of types and errors, over src/sync/omutex.c.
 *
 * count is the owner's. A normal one that its owner locks again waits for itself, as POSIX has it.
 */
#include <errno.h>

#include "posix_mutex.h"

ALWAYS_INLINE uint32_t type_of(const struct rt_omutex *m)
{
    return rt_mutex_type(m->kind);
}

ALWAYS_INLINE bool is_omutex(const pthread_mutex_t *mutex)
{
    return rt_mutex_form(((const struct rt_mutex *)mutex)->kind) == MUTEX_IS_OMUTEX;
}

void omutex_init(struct rt_omutex *m, uint32_t kind, const pthread_mutexattr_t *attr)
{
    int ceiling;
    pirn_pthread_mutexattr_getprioceiling(attr, &ceiling);
    rt_omutex_init(m, kind, (uint32_t)ceiling);
}

int omutex_destroy(struct rt_omutex *m)
{
    int error = -rt_omutex_destroy(m);
    if (error == 0) {
        m->kind = MUTEX_DESTROYED;
    }
    return error;
}

/* The caller has it already, and it is recursive. */
static int lock_again(struct rt_omutex *m)
{
    if (m->count == UINT32_MAX) {
        return EAGAIN;
    }
    m->count++;
    return 0;
}

/* After an attempt to lock. */
static int locked(struct rt_omutex *m, int error)
{
    if (error == 0 || error == EOWNERDEAD) {
        m->count = 1;
    }
    return error;
}

int omutex_lock(struct rt_omutex *m, const struct posix_limit *limit)
{
    uint64_t deadline = UINT64_MAX;
    if (rt_omutex_is_mine(m, rt_identity()) && type_of(m) == MUTEX_ERRORCHECK) {
        return EDEADLK;
    }
    if (rt_omutex_is_mine(m, rt_identity()) && type_of(m) == MUTEX_RECURSIVE) {
        return lock_again(m);
    }
    int error = -rt_omutex_trylock(m);
    if (error != EBUSY) {
        return locked(m, error);
    }
    if (limit != NULL && (error = posix_deadline(limit, &deadline)) != 0) {
        return error;
    }
    return locked(m, -rt_omutex_lock_until(m, deadline));
}

int omutex_trylock(struct rt_omutex *m)
{
    if (type_of(m) == MUTEX_RECURSIVE && rt_omutex_is_mine(m, rt_identity())) {
        return lock_again(m);
    }
    return locked(m, -rt_omutex_trylock(m));
}

int omutex_unlock(struct rt_omutex *m)
{
    if (!rt_omutex_is_mine(m, rt_identity())) {
        return EPERM;
    }
    if (--m->count == 0) {
        rt_omutex_unlock(m);
    }
    return 0;
}

/* Released whole and taken back as it was. */
int omutex_cond_wait(struct rt_cond *c, struct rt_omutex *m, uint64_t deadline)
{
    if (!rt_omutex_is_mine(m, rt_identity())) {
        return EPERM;
    }
    uint32_t count = m->count;
    int error = -rt_cond_wait_omutex(c, m, deadline);
    if (error != ENOTRECOVERABLE) {
        m->count = count;
    }
    return error;
}

int omutex_release(struct rt_omutex *m, uint32_t *count)
{
    if (!rt_omutex_is_mine(m, rt_identity())) {
        return EPERM;
    }
    *count = m->count;
    rt_omutex_unlock(m);
    return 0;
}

int omutex_retake(struct rt_omutex *m, uint32_t count)
{
    int error = -rt_omutex_lock_unlimited(m, UINT64_MAX);
    if (error != ENOTRECOVERABLE) {
        m->count = count;
    }
    return error;
}

int pirn_pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    return is_omutex(mutex) ? -rt_omutex_consistent(OMUTEX(mutex)) : EINVAL;
}

static bool has_ceiling(const pthread_mutex_t *mutex)
{
    return is_omutex(mutex) && (((const struct rt_omutex *)mutex)->kind & OM_PROTECT);
}

int pirn_pthread_mutex_getprioceiling(const pthread_mutex_t *mutex, int *ceiling)
{
    if (!has_ceiling(mutex)) {
        return EINVAL;
    }
    *ceiling = (int)at_load_rlx(&((struct rt_omutex *)(uintptr_t)mutex)->ceiling);
    return 0;
}

/* It is locked meanwhile; for that the caller's priority may be above the ceiling. An owner that
 * has died is told of, with the mutex locked and the ceiling as it was. */
int pirn_pthread_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *old)
{
    struct rt_omutex *m = OMUTEX(mutex);
    if (!has_ceiling(mutex) || !mutex_ceiling_valid(ceiling)) {
        return EINVAL;
    }
    bool mine = rt_omutex_is_mine(m, rt_identity());
    if (mine && type_of(m) == MUTEX_ERRORCHECK) {
        return EDEADLK;
    }
    bool again = mine && type_of(m) == MUTEX_RECURSIVE;
    if (!again) {
        int error = locked(m, -rt_omutex_lock_unlimited(m, UINT64_MAX));
        if (error != 0) {
            return error;
        }
    }
    if (old != NULL) {
        *old = (int)at_load_rlx(&m->ceiling);
    }
    at_store_rlx(&m->ceiling, (uint32_t)ceiling);
    if (again) {
        rt_omutex_ceiling_changed(rt_identity());
    } else {
        rt_omutex_unlock(m);
    }
    return 0;
}
