/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex.c - mutexes: the pthread functions, which call the functions of the mutex's form, and
 * the two forms that are a struct rt_mutex, the plain mutex of src/sync.
 *
 * Callers: programs; posix_cond.c and posix_cond_shared.c.
 *
 * Fast path: a mutex of kind MUTEX_NORMAL is locked when free, and unlocked when no thread waits,
 * after one comparison, without looking up its form.
 *
 * A counted mutex is recursive or error-checking. Its owner and count belong to the thread that
 * holds the word. Other threads read owner only to compare it with themselves. Only the holder can
 * find itself there, so relaxed accesses suffice.
 */
#include <errno.h>

#include "posix_mutex.h"

/* ---- plain ---- */

/* A request that is due with the asynchronous type ends the thread. Not inline: so the way of a
 * free mutex needs no stack frame. */
static NOINLINE int plain_wait(struct rt_mutex *m, uint64_t deadline)
{
    int error = rt_mutex_lock_async(m, deadline);
    if (unlikely(error == -ECANCELED)) {
        posix_cancel_now();
        error = rt_mutex_lock_until(m, deadline);
    }
    return -error;
}

static int plain_lock(struct rt_mutex *m, const struct posix_limit *limit)
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
    return plain_wait(m, deadline);
}

static int plain_destroy(struct rt_mutex *m)
{
    if (rt_mutex_is_locked(m)) {
        return EBUSY;
    }
    m->kind = MUTEX_DESTROYED;
    return 0;
}

/* ---- counted ---- */

ALWAYS_INLINE struct thread *counted_owner(struct rt_mutex *m)
{
    return at_load_rlx((_Atomic(void *) *)&m->owner);
}

ALWAYS_INLINE void counted_take(struct rt_mutex *m, struct thread *owner, uint32_t count)
{
    m->count = count;
    rt_mutex_set_owner(m, owner);
}

/* The caller holds the mutex. */
static int counted_lock_again(struct rt_mutex *m, int busy)
{
    if (m->kind != MUTEX_RECURSIVE) {
        return busy;
    }
    if (m->count == UINT32_MAX) {
        return EAGAIN;
    }
    m->count++;
    return 0;
}

static int counted_lock(struct rt_mutex *m, const struct posix_limit *limit)
{
    struct thread *self = rt_identity();
    if (counted_owner(m) == self) {
        return counted_lock_again(m, EDEADLK);
    }
    int error = plain_lock(m, limit);
    if (error == 0) {
        counted_take(m, self, 1);
    }
    return error;
}

static int counted_trylock(struct rt_mutex *m)
{
    struct thread *self = rt_identity();
    if (counted_owner(m) == self) {
        return counted_lock_again(m, EBUSY);
    }
    int error = -rt_mutex_trylock(m);
    if (error == 0) {
        counted_take(m, self, 1);
    }
    return error;
}

static int counted_unlock(struct rt_mutex *m)
{
    if (counted_owner(m) != rt_identity()) {
        return EPERM;
    }
    if (--m->count == 0) {
        counted_take(m, NULL, 0);
        rt_mutex_unlock(m);
    }
    return 0;
}

/* Afterwards the caller is no longer the owner, but still holds the word. */
static int counted_release(struct rt_mutex *m, const struct thread *self, uint32_t *count)
{
    if (counted_owner(m) != self) {
        return EPERM;
    }
    *count = m->count;
    counted_take(m, NULL, 0);
    return 0;
}

static int counted_cond_wait(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline)
{
    struct thread *self = rt_self();
    uint32_t count;
    int error = counted_release(m, self, &count);
    if (error == 0) {
        error = -rt_cond_wait_point(c, m, deadline);
        counted_take(m, self, count);
    }
    return error;
}

/* ---- the forms ---- */

static COLD int form_lock(struct rt_mutex *m, const struct posix_limit *limit)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        return plain_lock(m, limit);
    case MUTEX_IS_COUNTED:
        return counted_lock(m, limit);
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_lock(OMUTEX(m), limit) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_lock(SHMUTEX(m), limit) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

static COLD int form_trylock(struct rt_mutex *m)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        return -rt_mutex_trylock(m);
    case MUTEX_IS_COUNTED:
        return counted_trylock(m);
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_trylock(OMUTEX(m)) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_trylock(SHMUTEX(m)) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

static COLD int form_unlock(struct rt_mutex *m)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        rt_mutex_unlock(m);
        return 0;
    case MUTEX_IS_COUNTED:
        return counted_unlock(m);
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_unlock(OMUTEX(m)) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_unlock(SHMUTEX(m)) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

int mutex_cond_wait(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        return -rt_cond_wait_point(c, m, deadline);
    case MUTEX_IS_COUNTED:
        return counted_cond_wait(c, m, deadline);
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_cond_wait(c, OMUTEX(m), deadline) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_cond_wait(c, SHMUTEX(m), deadline) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

int mutex_release(struct rt_mutex *m, uint32_t *count)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        rt_mutex_unlock(m);
        return 0;
    case MUTEX_IS_COUNTED:
        if (counted_release(m, rt_self(), count) != 0) {
            return EPERM;
        }
        rt_mutex_unlock(m);
        return 0;
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_release(OMUTEX(m), count) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_release(SHMUTEX(m), count) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

int mutex_retake(struct rt_mutex *m, uint32_t count)
{
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
        return -rt_mutex_lock_until(m, UINT64_MAX);
    case MUTEX_IS_COUNTED:
        rt_mutex_lock_until(m, UINT64_MAX);
        counted_take(m, rt_self(), count);
        return 0;
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_retake(OMUTEX(m), count) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_retake(SHMUTEX(m), count) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

/* ---- the pthread functions ---- */

int pirn_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    uint32_t kind = MUTEX_NORMAL;
    int error = attr != NULL ? mutex_kind_of(attr, &kind) : 0;
    if (error != 0) {
        return error;
    }
    enum rt_mutex_form form = rt_mutex_form(kind);
    if (POSIX_PROCESSES && form == MUTEX_IS_SHARED) {
        return shmutex_init(SHMUTEX(mutex), kind);
    }
    if (RT_OWNED && form == MUTEX_IS_OMUTEX) {
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
    switch (rt_mutex_form(m->kind)) {
    case MUTEX_IS_PLAIN:
    case MUTEX_IS_COUNTED:
        return plain_destroy(m);
    case MUTEX_IS_OMUTEX:
        return RT_OWNED ? omutex_destroy(OMUTEX(m)) : EINVAL;
    case MUTEX_IS_SHARED:
        return POSIX_PROCESSES ? shmutex_destroy(SHMUTEX(m)) : EINVAL;
    case MUTEX_IS_NONE:
        break;
    }
    return EINVAL;
}

int pirn_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    if (unlikely(m->kind != MUTEX_NORMAL)) {
        return form_lock(m, NULL);
    }
    return rt_mutex_lock_fast(m) ? 0 : plain_wait(m, UINT64_MAX);
}

int pirn_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                 const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    if (!posix_clock_valid(clock)) {
        return EINVAL;
    }
    return form_lock(MUTEX(mutex), &limit);
}

int pirn_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *abstime)
{
    return pirn_pthread_mutex_clocklock(mutex, CLOCK_REALTIME, abstime);
}

int pirn_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    return likely(m->kind == MUTEX_NORMAL) ? -rt_mutex_trylock(m) : form_trylock(m);
}

int pirn_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct rt_mutex *m = MUTEX(mutex);
    if (unlikely(m->kind != MUTEX_NORMAL)) {
        return form_unlock(m);
    }
    rt_mutex_check_owner(m);
    if (!rt_mutex_unlock_fast(m)) {
        rt_mutex_unlock_slow(m);
    }
    return 0;
}
