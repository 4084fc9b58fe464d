/* SPDX-License-Identifier: MIT */
/*
 * omutex.h - mutexes that know their owner: robust, with priority inheritance, with a ceiling.
 *
 * All are called by threads, not by interrupt handlers. `kind` is that of mutex_kind.h.
 */
#ifndef PIRN_SYNC_OMUTEX_H
#define PIRN_SYNC_OMUTEX_H

#include "mutex_kind.h"
#include "prio.h"
#include "sync.h"

#define OM_OWNER 0x3fffffffu
#define OM_LOST 0x3fffffffu /* owner of a mutex that cannot be locked any more */
#define OM_GONE 0x3ffffffeu /* owner that has ended, of a mutex that is not robust */
#define OM_DIED 0x40000000u /* robust: the last owner ended, the data may be inconsistent */
#define OM_WAITERS 0x80000000u

struct rt_omutex {
    _Atomic(uint32_t) word; /* (A) */
    uint32_t count;         /* (owner) POSIX layer: recursion */
    struct rt_omutex *next; /* (owner) in thread->held */
    uint32_t kind;          /* (C) */
    union {
        uint32_t leader;           /* (prio lock) OM_INHERIT: see prio.h */
        _Atomic(uint32_t) ceiling; /* (A) OM_PROTECT: written by the owner */
    };
    struct waitq queue;
};

_Static_assert(offsetof(struct rt_omutex, kind) == offsetof(struct rt_mutex, kind), "kind");

void rt_omutex_init(struct rt_omutex *m, uint32_t kind, uint32_t ceiling);

/* 0 or -EBUSY (locked). */
int rt_omutex_destroy(struct rt_omutex *m);

ALWAYS_INLINE bool rt_omutex_is_mine(struct rt_omutex *m, const struct thread *self)
{
    return (at_load_rlx(&m->word) & OM_OWNER) == self->index;
}

/* 0; -EOWNERDEAD: locked, and its last owner ended while it held the mutex; -ENOTRECOVERABLE;
 * -ETIMEDOUT; -ECANCELED (rt_wait_remove; lock_until with the asynchronous type of cancellation);
 * -EINVAL: the caller's own priority is above the ceiling. A caller that owns the mutex would wait
 * for itself. */
int rt_omutex_lock_until(struct rt_omutex *m, uint64_t deadline);
int rt_omutex_lock_unlimited(struct rt_omutex *m, uint64_t deadline); /* by the ceiling */

/* The same without waiting: -EBUSY. */
int rt_omutex_trylock(struct rt_omutex *m);

/* The caller owns it. If it got it with -EOWNERDEAD and has not called rt_omutex_consistent, nobody
 * can lock it afterwards. */
void rt_omutex_unlock(struct rt_omutex *m);
/* With the interrupts disabled already, and at most a lock of rank RANK_COND held. */
void rt_omutex_unlock_irqoff(struct cpu *cpu, struct rt_omutex *m);

/* The caller has repaired the data. 0; -EINVAL: not robust, not the caller's, or nothing is wrong.
 */
int rt_omutex_consistent(struct rt_omutex *m);

/* The caller holds other ceiling mutexes than before, or one of them has another ceiling. */
void rt_omutex_ceiling_changed(struct thread *self);

/* The word is the caller's, with OM_WAITERS perhaps: hand it over, or free it, with OM_DIED if
 * `died`. For robust.c. */
void rt_omutex_release_irqoff(struct cpu *cpu, struct rt_omutex *m, struct thread *self,
                              uint32_t died);

/* `self` ends and still holds such mutexes (robust.c): core/objects.h. */
void rt_held_end(struct thread *self);

/* rt_cond_wait_point with such a mutex; and the results of rt_omutex_lock_unlimited. */
int rt_cond_wait_omutex(struct rt_cond *c, struct rt_omutex *m, uint64_t deadline);

#endif
