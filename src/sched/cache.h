/* SPDX-License-Identifier: MIT */
/*
 * cache.h - the shared cache, for the policies gate and groups: its size, and how much of it the
 * working sets of the threads take that run.
 *
 * A working set is charged to the CPU that takes the thread, until that CPU takes another one or is
 * without work. One that is larger than the cache counts as the whole cache. A thread that demands
 * nothing (core/demand.h) has none.
 *
 * The policy's queues and the charges are under one lock. A thread that is ready has its working
 * set in its room, as it was when it became ready: room[2], and in room[3] a value of the policy's.
 *
 * Invariants (lock):
 *   1. used is the sum of all charges.
 *   2. need is 0 or 1 + the working set of the thread that is next. It is stored with used in each
 *      section that changes either, so that has_work can read both without the lock.
 *      ORDER(idle-wake)
 *   3. A CPU's charge changes in operations of that CPU only; so it may read its own without the
 *      lock. For others it is a hint.
 */
#ifndef PIRN_SCHED_CACHE_H
#define PIRN_SCHED_CACHE_H

#include "../core/demand.h"
#include "cpu.h"
#include "policy.h"
#include "runtime.h"

/* Nothing overflows while each CPU has that much. */
#define CACHE_MOST (UINTPTR_MAX / 4 / RT_MAX_CPUS)

struct cache_cpu {
    _Atomic(uintptr_t) charge; /* (lock) written by the CPU itself; read by the monitor, too */
    bool ends;                 /* (O) its thread is past thread_exit: it stops at the next pick */
    uint64_t taken;            /* (O) threads with a working set that it took */
    uint64_t refused; /* (O) picks that left it without work because the next thread did not fit */
} ALIGNED(RT_CACHELINE);

HIDDEN extern struct cache {
    spinlock_t lock ALIGNED(RT_CACHELINE); /* (RANK_RUNQ) */
    _Atomic(uintptr_t) used;               /* (lock) written */
    _Atomic(uintptr_t) need;               /* (lock) written */
    uintptr_t size;                        /* (C) bytes */
    struct cache_cpu cpus[RT_MAX_CPUS];
} cache;

/* The setter of the option cache. */
int cache_set_size(const char *value, const char **why);

#define CACHE_OPTION                                                                               \
    {                                                                                              \
        .name = "cache", .values = "<bytes>", .deflt = "auto",                                     \
        .help = "size of the cache that all CPUs share; auto: as the platform says, or no limit "  \
                "where it does not",                                                               \
        .set = cache_set_size                                                                      \
    }

/* Policy operation init calls it. */
void cache_init(unsigned ncpu);

/* Policy operation thread_exit. */
void cache_thread_exit(struct thread *t);

/* Policy operation stat. */
void cache_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                void *to);

/* For check: invariant 1. */
void cache_check_locked(void);

/* ---- a thread that is ready ---- */

ALWAYS_INLINE uint64_t *cache_room(struct thread *t)
{
    return &t->policy[2];
}

ALWAYS_INLINE uintptr_t cache_working_set(const struct thread *t)
{
    return (uintptr_t)t->policy[2];
}

ALWAYS_INLINE uint64_t cache_value(const struct thread *t)
{
    return t->policy[3];
}

/* t becomes ready: what it demands, and its working set into its room. Before the lock is taken. */
ALWAYS_INLINE struct demand_now cache_enters(struct thread *t)
{
    struct demand_now now = {0};
    demand_read(t, &now);
    t->policy[2] = now.working_set < cache.size ? now.working_set : cache.size;
    return now;
}

/* ---- charges ---- */

ALWAYS_INLINE struct cache_cpu *cache_of(const struct cpu *self)
{
    return &cache.cpus[self->id];
}

/* Does the CPU's thread stop in any case when pick returns? Not if it yields: then it goes on if
 * there is no other thread. */
ALWAYS_INLINE bool cache_stops(const struct cpu *self)
{
    const struct thread *t = self->current;
    return (t->flags & THREAD_IDLE) || cache_of(self)->ends ||
           at_load_rlx(&t->state) != THREAD_RUNNING;
}

/* Would this working set fit beside the others, if the CPU gave up its own? `own`: its charge, or
 * 0 for a CPU without thread. */
ALWAYS_INLINE bool cache_fits(uintptr_t own, uintptr_t working_set)
{
    return at_load_rlx(&cache.used) - own + working_set <= cache.size; /* ORDER(idle-wake) */
}

ALWAYS_INLINE uintptr_t cache_charge(const struct cpu *self)
{
    return at_load_rlx(&cache_of(self)->charge);
}

ALWAYS_INLINE void cache_charge_locked(struct cpu *self, uintptr_t working_set)
{
    struct cache_cpu *c = cache_of(self);
    c->ends = false;
    uintptr_t before = at_load_rlx(&c->charge);
    if (before != working_set) {
        at_store_rlx(&cache.used, at_load_rlx(&cache.used) - before + working_set);
        at_store_rlx(&c->charge, working_set);
    }
    if (working_set != 0) {
        STAT_INC(&c->taken);
    }
}

/* `next` (NULL: none) is the next thread. */
ALWAYS_INLINE void cache_next_locked(const struct thread *next)
{
    uintptr_t need = next != NULL ? cache_working_set(next) + 1 : 0;
    if (at_load_rlx(&cache.need) != need) {
        at_store_rlx(&cache.need, need);
    }
}

/* Does it fit? */
ALWAYS_INLINE bool cache_next_fits(uintptr_t own)
{
    uintptr_t need = at_load_rlx(&cache.need); /* ORDER(idle-wake) */
    return need != 0 && cache_fits(own, need - 1);
}

#endif
