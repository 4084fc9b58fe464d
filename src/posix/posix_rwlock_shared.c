/* SPDX-License-Identifier: MIT */
/*
 * posix_rwlock_shared.c - readers-writer locks between processes, over rt_shrwlock.
 *
 * owner[0] is the writer's process, owner[1] the index of its thread plus one; both are 0 without a
 * writer. Only the holder can find itself there.
 */
#include <errno.h>

#include "../sync/shared.h"
#include "posix_rwlock.h"

_Static_assert(offsetof(struct rt_shrwlock, shared) == offsetof(struct rt_rwlock, shared), "");
_Static_assert(offsetof(struct rt_shrwlock, prefer_writer) ==
                   offsetof(struct rt_rwlock, prefer_writer),
               "");

#define SHRWLOCK(lock) ((struct rt_shrwlock *)(lock))
#define FIELD(field) ((_Atomic(uint32_t) *)&(field))

static void set_owner(struct rt_shrwlock *l, uint32_t process, uint32_t thread)
{
    at_store_rlx(FIELD(l->owner[0]), process);
    at_store_rlx(FIELD(l->owner[1]), thread);
}

static bool is_mine(struct rt_shrwlock *l)
{
    return at_load_rlx(FIELD(l->owner[0])) == posix_process() &&
           at_load_rlx(FIELD(l->owner[1])) == rt_identity()->index + 1;
}

void shrwlock_init(pthread_rwlock_t *lock, bool prefer_writer)
{
    *SHRWLOCK(lock) = (struct rt_shrwlock){.shared = 1, .prefer_writer = prefer_writer};
}

int shrwlock_destroy(pthread_rwlock_t *lock)
{
    return at_load_rlx(&SHRWLOCK(lock)->word) != 0 ? EBUSY : 0;
}

int shrwlock_trylock(pthread_rwlock_t *lock, bool write)
{
    struct rt_shrwlock *l = SHRWLOCK(lock);
    if (!write) {
        return -rt_shrwlock_tryrdlock(l);
    }
    int error = -rt_shrwlock_trywrlock(l);
    if (error == 0) {
        set_owner(l, posix_process(), rt_identity()->index + 1);
    }
    return error;
}

int shrwlock_lock(pthread_rwlock_t *lock, bool write, const struct posix_limit *limit)
{
    struct rt_shrwlock *l = SHRWLOCK(lock);
    struct rt_shared_limit shared;
    if (shrwlock_trylock(lock, write) == 0) {
        return 0;
    }
    if (is_mine(l)) {
        return EDEADLK;
    }
    int error = limit != NULL ? posix_shared_limit(limit, &shared) : 0;
    if (error == 0) {
        const struct rt_shared_limit *until = limit != NULL ? &shared : NULL;
        error = -(write ? rt_shrwlock_wrlock(l, until) : rt_shrwlock_rdlock(l, until));
    }
    if (error == 0 && write) {
        set_owner(l, posix_process(), rt_identity()->index + 1);
    }
    return error;
}

/* owner is 0 while readers hold the lock. */
int shrwlock_unlock(pthread_rwlock_t *lock)
{
    struct rt_shrwlock *l = SHRWLOCK(lock);
    if (at_load_rlx(FIELD(l->owner[1])) != 0) {
        if (!is_mine(l)) {
            return EPERM;
        }
        set_owner(l, 0, 0);
    }
    return -rt_shrwlock_unlock(l);
}
