/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex_shared.c - mutexes between processes, of the four types, over rt_shmutex; robust ones
 * over rt_robust.
 *
 * The owner of a recursive or error-checking mutex that is not robust is a thread of a process:
 * `owner` is the process, `users` the index of the thread plus one. Threads of the C library in
 * another process read `owner` as a thread id that none of them has, and `users` as a count, which
 * is 0 again when the mutex is free. Only the holder can find itself there, so relaxed accesses
 * suffice. A robust mutex of each type has an owner, which rt_robust knows.
 */
#include <errno.h>

#include "posix_mutex.h"

#define FIELD(field) ((_Atomic(uint32_t) *)&(field))

static uint32_t type_of(const struct rt_shmutex *m)
{
    return rt_mutex_type(m->kind);
}

static bool is_robust(const struct rt_shmutex *m)
{
    return (m->kind & OM_ROBUST) != 0;
}

static bool has_owner(const struct rt_shmutex *m)
{
    return is_robust(m) || type_of(m) == MUTEX_RECURSIVE || type_of(m) == MUTEX_ERRORCHECK;
}

static bool is_mine(struct rt_shmutex *m)
{
    if (is_robust(m)) {
        return rt_robust_is_mine(m);
    }
    return has_owner(m) && at_load_rlx(FIELD(m->owner)) == posix_process() &&
           at_load_rlx(FIELD(m->users)) == rt_identity()->index + 1;
}

/* After an attempt to lock, whose result is returned: the owner and the count. */
static int taken(struct rt_shmutex *m, int error, uint32_t count)
{
    if (has_owner(m) && (error == 0 || error == EOWNERDEAD)) {
        m->count = count;
    }
    if (has_owner(m) && !is_robust(m) && error == 0) {
        at_store_rlx(FIELD(m->owner), posix_process());
        at_store_rlx(FIELD(m->users), rt_identity()->index + 1);
    }
    return error;
}

static void give(struct rt_shmutex *m)
{
    if (has_owner(m)) {
        m->count = 0;
        at_store_rlx(FIELD(m->owner), 0u);
        at_store_rlx(FIELD(m->users), 0u);
    }
    rt_shmutex_unlock(m);
}

/* ENOTSUP: a robust one, and the environment knows of none. */
int shmutex_init(struct rt_shmutex *m, uint32_t kind)
{
    if ((kind & OM_ROBUST) != 0 && !rt_robust_possible()) {
        return ENOTSUP;
    }
    *m = (struct rt_shmutex){.kind = kind};
    at_init(&m->word, 0u);
    return 0;
}

int shmutex_destroy(struct rt_shmutex *m)
{
    if (is_robust(m) ? !rt_robust_is_free(m) : at_load_rlx(&m->word) != 0) {
        return EBUSY;
    }
    m->kind = MUTEX_DESTROYED;
    return 0;
}

/* The caller holds the mutex, and wants to lock it. False: as with one that others hold. */
static bool again(struct rt_shmutex *m, int busy, int *error)
{
    if (type_of(m) == MUTEX_RECURSIVE) {
        *error = m->count == UINT32_MAX ? EAGAIN : 0;
        m->count += *error == 0;
        return true;
    }
    *error = busy;
    return type_of(m) == MUTEX_ERRORCHECK;
}

static int try(struct rt_shmutex *m)
{
    return is_robust(m) ? -rt_robust_trylock(m) : -rt_shmutex_trylock(m);
}

static int get(struct rt_shmutex *m, const struct rt_shared_limit *limit)
{
    return is_robust(m) ? -rt_robust_lock(m, limit) : -rt_shmutex_lock(m, limit);
}

int shmutex_lock(struct rt_shmutex *m, const struct posix_limit *limit)
{
    struct rt_shared_limit shared;
    int error;
    if (is_mine(m) && again(m, EDEADLK, &error)) {
        return error;
    }
    error = try(m);
    if (error == EBUSY) {
        error = limit != NULL ? posix_shared_limit(limit, &shared) : 0;
        if (error == 0) {
            error = get(m, limit != NULL ? &shared : NULL);
        }
    }
    return taken(m, error, 1);
}

int shmutex_trylock(struct rt_shmutex *m)
{
    int error;
    if (is_mine(m) && again(m, EBUSY, &error)) {
        return error;
    }
    return taken(m, try(m), 1);
}

int shmutex_unlock(struct rt_shmutex *m)
{
    if (has_owner(m)) {
        if (!is_mine(m)) {
            return EPERM;
        }
        if (--m->count != 0) {
            return 0;
        }
    }
    if (is_robust(m)) {
        rt_robust_unlock(m);
    } else {
        give(m);
    }
    return 0;
}

static void release(struct cpu *cpu, void *mutex)
{
    struct rt_shmutex *m = mutex;
    (void)cpu;
    if (is_robust(m)) {
        rt_robust_unlock_irqoff(m);
    } else {
        give(m);
    }
}

int shmutex_cond_wait(struct rt_cond *c, struct rt_shmutex *m, uint64_t deadline)
{
    if (has_owner(m) && !is_mine(m)) {
        return EPERM;
    }
    uint32_t count = m->count;
    int error = -rt_cond_wait_released(c, deadline, release, m);
    int state = shmutex_retake(m, count);
    return state != 0 ? state : error;
}

int shmutex_release(struct rt_shmutex *m, uint32_t *count)
{
    if (has_owner(m) && !is_mine(m)) {
        return EPERM;
    }
    *count = m->count;
    if (is_robust(m)) {
        rt_robust_unlock(m);
    } else {
        give(m);
    }
    return 0;
}

/* No error may say that there is no memory for it: one that it has released has left some. */
int shmutex_retake(struct rt_shmutex *m, uint32_t count)
{
    int error = get(m, NULL);
    for (unsigned round = 0; error == EAGAIN; round++) {
        port_relax(round);
        error = get(m, NULL);
    }
    return taken(m, error, count);
}

int shmutex_consistent(struct rt_shmutex *m)
{
    return is_robust(m) ? -rt_robust_consistent(m) : EINVAL;
}
