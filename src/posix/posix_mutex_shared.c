/* SPDX-License-Identifier: MIT */
/*
 * posix_mutex_shared.c - mutexes between processes, of the four types, over rt_shmutex.
 *
 * The owner of a recursive or error-checking mutex is a thread of a process: `owner` is the
 * process, `users` the index of the thread plus one. Threads of the C library in another process
 * read `owner` as a thread id that none of them has, and `users` as a count, which is 0 again when
 * the mutex is free. Only the holder can find itself there, so relaxed accesses suffice.
 */
#include <errno.h>

#include "posix_mutex.h"

#define FIELD(field) ((_Atomic(uint32_t) *)&(field))

static uint32_t type_of(const struct rt_shmutex *m)
{
    return rt_mutex_type(m->kind);
}

static bool has_owner(const struct rt_shmutex *m)
{
    return type_of(m) == MUTEX_RECURSIVE || type_of(m) == MUTEX_ERRORCHECK;
}

static bool is_mine(struct rt_shmutex *m)
{
    return has_owner(m) && at_load_rlx(FIELD(m->owner)) == posix_process() &&
           at_load_rlx(FIELD(m->users)) == rt_identity()->index + 1;
}

static void take(struct rt_shmutex *m, uint32_t count)
{
    if (has_owner(m)) {
        m->count = count;
        at_store_rlx(FIELD(m->owner), posix_process());
        at_store_rlx(FIELD(m->users), rt_identity()->index + 1);
    }
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

void shmutex_init(struct rt_shmutex *m, uint32_t kind)
{
    *m = (struct rt_shmutex){.kind = kind};
    at_init(&m->word, 0u);
}

int shmutex_destroy(struct rt_shmutex *m)
{
    if (at_load_rlx(&m->word) != 0) {
        return EBUSY;
    }
    m->kind = MUTEX_DESTROYED;
    return 0;
}

static int lock_again(struct rt_shmutex *m)
{
    if (m->count == UINT32_MAX) {
        return EAGAIN;
    }
    m->count++;
    return 0;
}

int shmutex_lock(struct rt_shmutex *m, const struct posix_limit *limit)
{
    struct rt_shared_limit shared;
    if (is_mine(m)) {
        return type_of(m) == MUTEX_RECURSIVE ? lock_again(m) : EDEADLK;
    }
    int error = -rt_shmutex_trylock(m);
    if (error != 0) {
        error = limit != NULL ? posix_shared_limit(limit, &shared) : 0;
        if (error == 0) {
            error = -rt_shmutex_lock(m, limit != NULL ? &shared : NULL);
        }
    }
    if (error == 0) {
        take(m, 1);
    }
    return error;
}

int shmutex_trylock(struct rt_shmutex *m)
{
    if (is_mine(m)) {
        return type_of(m) == MUTEX_RECURSIVE ? lock_again(m) : EBUSY;
    }
    int error = -rt_shmutex_trylock(m);
    if (error == 0) {
        take(m, 1);
    }
    return error;
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
    give(m);
    return 0;
}

static void release(struct cpu *cpu, void *m)
{
    (void)cpu;
    give(m);
}

int shmutex_cond_wait(struct rt_cond *c, struct rt_shmutex *m, uint64_t deadline)
{
    if (has_owner(m) && !is_mine(m)) {
        return EPERM;
    }
    uint32_t count = m->count;
    int error = -rt_cond_wait_released(c, deadline, release, m);
    shmutex_retake(m, count);
    return error;
}

int shmutex_release(struct rt_shmutex *m, uint32_t *count)
{
    if (has_owner(m) && !is_mine(m)) {
        return EPERM;
    }
    *count = m->count;
    give(m);
    return 0;
}

int shmutex_retake(struct rt_shmutex *m, uint32_t count)
{
    rt_shmutex_lock(m, NULL);
    take(m, count);
    return 0;
}
