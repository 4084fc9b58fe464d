/* SPDX-License-Identifier: MIT */
/*
 * mutex.h - what condition variables need to know of mutexes with an owner.
 */
#ifndef PIRN_POSIX_MUTEX_H
#define PIRN_POSIX_MUTEX_H

#include "posix.h"

#define MUTEX(mutex) ((struct rt_mutex *)(mutex))

/* Kind of a destroyed mutex: every operation says EINVAL. */
#define MUTEX_DESTROYED UINT32_MAX

ALWAYS_INLINE bool mutex_is_owned(const struct rt_mutex *m)
{
    return m->kind == PTHREAD_MUTEX_RECURSIVE || m->kind == PTHREAD_MUTEX_ERRORCHECK;
}

ALWAYS_INLINE struct thread *mutex_owner(struct rt_mutex *m)
{
    return at_load_rlx((_Atomic(void *) *)&m->owner);
}

ALWAYS_INLINE void mutex_take(struct rt_mutex *m, struct thread *owner, uint32_t count)
{
    m->count = count;
    at_store_rlx((_Atomic(void *) *)&m->owner, (void *)owner);
}

#endif
