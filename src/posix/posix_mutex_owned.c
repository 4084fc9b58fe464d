/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex_owned.c - robust mutexes, and mutexes with priority inheritance or a priority
 * ceiling: the types and errors of POSIX over src/sync/omutex.c.
 *
 * Only the owner uses `count`. The owner of a normal mutex that locks it again waits for itself, as
 * POSIX requires.
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

/* The caller holds the mutex, which is recursive. */
static int lock_again(struct rt_omutex *m)
{
    if (m->count == UINT32_MAX) {
        return EAGAIN;
    }
    m->count++;
    return 0;
}

/* Sets the count after an attempt to lock; returns the attempt's error. */
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
    error = -rt_omutex_lock_until(m, deadline);
    if (unlikely(error == ECANCELED)) {
        posix_cancel_now();
        error = -rt_omutex_lock_unlimited(m, deadline);
    }
    return locked(m, error);
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

/* Releases the mutex completely and takes it back with the same count. */
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
    if (POSIX_PROCESSES &&
        rt_mutex_form(((const struct rt_mutex *)mutex)->kind) == MUTEX_IS_SHARED) {
        return shmutex_consistent(SHMUTEX(mutex));
    }
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

/* Locks the mutex while the ceiling changes; the caller's priority may be above the ceiling for
 * that. EOWNERDEAD: the mutex is locked and the ceiling is unchanged. */
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
