/* SPDX-License-Identifier: MIT */
/*
 * posix_rwlock.c - readers-writer locks and their attributes.
 *
 * owner_hint is the writer's id slot plus one, 0 without a writer. Only the holder can find itself
 * there. The hint turns the deadlock of a writer that locks again into EDEADLK.
 *
 * A lock with `shared` set is shared between processes: a struct rt_shrwlock
 * (posix_rwlock_shared.c).
 */
#include <errno.h>

#include "posix_rwlock.h"

#define RWLOCK(lock) ((struct rt_rwlock *)(lock))
#define SHARED(lock) (POSIX_PROCESSES && unlikely(RWLOCK(lock)->shared != 0))

struct attr {
    int kind, shared;
};
_Static_assert(sizeof(struct attr) <= sizeof(pthread_rwlockattr_t), "pthread_rwlockattr_t");
#define ATTR_OF(attr) ((struct attr *)(attr))
#define CONST_ATTR_OF(attr) ((const struct attr *)(attr))

ALWAYS_INLINE uint32_t rw_hint(struct rt_rwlock *l)
{
    return at_load_rlx((_Atomic(uint32_t) *)&l->owner_hint);
}

ALWAYS_INLINE void rw_set_hint(struct rt_rwlock *l, uint32_t hint)
{
    at_store_rlx((_Atomic(uint32_t) *)&l->owner_hint, hint);
}

ALWAYS_INLINE uint32_t rw_me(void)
{
    return rt_identity()->index + 1;
}

/* As in glibc, only the non-recursive kind prefers writers: with the other kind a reader that locks
 * again could deadlock. */
int pirn_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
    bool prefer_writer =
        attr != NULL && CONST_ATTR_OF(attr)->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    if (POSIX_PROCESSES && attr != NULL && CONST_ATTR_OF(attr)->shared == PTHREAD_PROCESS_SHARED) {
        shrwlock_init(lock, prefer_writer);
        return 0;
    }
    rt_rwlock_init(RWLOCK(lock));
    RWLOCK(lock)->prefer_writer = prefer_writer;
    return 0;
}

/* Takes the queue lock, because the thread that unlocked last may still hold it. A null pointer:
 * undefined in POSIX; the C library does not read it. */
int pirn_pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    struct rt_rwlock *l = RWLOCK(lock);
    unsigned long irq;
    if (l == NULL) {
        return 0;
    }
    if (SHARED(lock)) {
        return shrwlock_destroy(lock);
    }
    rt_enter(&irq);
    state_lock(&l->queue.lock, RANK_WAITQ);
    bool busy = at_load_rlx(&l->word) != 0;
    state_unlock(&l->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return busy ? EBUSY : 0;
}

/* The limit of a lock whose fast path has failed. 0, EDEADLK, or as posix_deadline. */
static int rw_deadline(struct rt_rwlock *l, const struct posix_limit *limit, uint64_t *deadline)
{
    *deadline = UINT64_MAX;
    uint32_t hint = rw_hint(l);
    if (hint != 0 && hint == rw_me()) {
        return EDEADLK;
    }
    return limit != NULL ? posix_deadline(limit, deadline) : 0;
}

/* After the fast path. A request that is due with the asynchronous type ends the thread. */
static int rw_lock(struct rt_rwlock *l, bool writer, const struct posix_limit *limit)
{
    uint64_t deadline;
    int error = rw_deadline(l, limit, &deadline);
    if (error != 0) {
        return error;
    }
    while ((error = writer ? rt_rwlock_wrlock_until(l, deadline)
                           : rt_rwlock_rdlock_until(l, deadline)) == -ECANCELED) {
        posix_cancel_now();
    }
    return -error;
}

static int rw_rdlock(pthread_rwlock_t *lock, const struct posix_limit *limit)
{
    struct rt_rwlock *l = RWLOCK(lock);
    if (SHARED(lock)) {
        return shrwlock_lock(lock, false, limit);
    }
    return likely(rt_rwlock_tryrdlock(l) == 0) ? 0 : rw_lock(l, false, limit);
}

static int rw_wrlock(pthread_rwlock_t *lock, const struct posix_limit *limit)
{
    struct rt_rwlock *l = RWLOCK(lock);
    if (SHARED(lock)) {
        return shrwlock_lock(lock, true, limit);
    }
    if (unlikely(rt_rwlock_trywrlock(l) != 0)) {
        int error = rw_lock(l, true, limit);
        if (error != 0) {
            return error;
        }
    }
    rw_set_hint(l, rw_me());
    return 0;
}

int pirn_pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return rw_rdlock(lock, NULL);
}

int pirn_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    return SHARED(lock) ? shrwlock_trylock(lock, false) : -rt_rwlock_tryrdlock(RWLOCK(lock));
}

int pirn_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                    const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    return posix_clock_valid(clock) ? rw_rdlock(lock, &limit) : EINVAL;
}

int pirn_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *abstime)
{
    return pirn_pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, abstime);
}

int pirn_pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return rw_wrlock(lock, NULL);
}

int pirn_pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    struct rt_rwlock *l = RWLOCK(lock);
    if (SHARED(lock)) {
        return shrwlock_trylock(lock, true);
    }
    int error = -rt_rwlock_trywrlock(l);
    if (error == 0) {
        rw_set_hint(l, rw_me());
    }
    return error;
}

int pirn_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                    const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    return posix_clock_valid(clock) ? rw_wrlock(lock, &limit) : EINVAL;
}

int pirn_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *abstime)
{
    return pirn_pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, abstime);
}

/* The hint is 0 while readers hold the lock. */
int pirn_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    struct rt_rwlock *l = RWLOCK(lock);
    if (SHARED(lock)) {
        return shrwlock_unlock(lock);
    }
    if (rw_hint(l) != 0) {
        if (rw_hint(l) != rw_me()) {
            return EPERM;
        }
        rw_set_hint(l, 0);
    }
    return -rt_rwlock_unlock(l);
}

int pirn_pthread_rwlockattr_init(pthread_rwlockattr_t *attr)
{
    *ATTR_OF(attr) = (struct attr){PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_PRIVATE};
    return 0;
}

int pirn_pthread_rwlockattr_destroy(pthread_rwlockattr_t *attr)
{
    (void)attr;
    return 0;
}

int pirn_pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *attr, int kind)
{
    if (kind < PTHREAD_RWLOCK_PREFER_READER_NP ||
        kind > PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) {
        return EINVAL;
    }
    ATTR_OF(attr)->kind = kind;
    return 0;
}

int pirn_pthread_rwlockattr_getkind_np(const pthread_rwlockattr_t *attr, int *kind)
{
    *kind = CONST_ATTR_OF(attr)->kind;
    return 0;
}

int pirn_pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int shared)
{
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    ATTR_OF(attr)->shared = shared;
    return 0;
}

int pirn_pthread_rwlockattr_getpshared(const pthread_rwlockattr_t *attr, int *shared)
{
    *shared = CONST_ATTR_OF(attr)->shared;
    return 0;
}
