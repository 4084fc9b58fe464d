/* SPDX-License-Identifier: MIT */
/*
 * demand.h - what a thread demands: period, worst-case time, working set, group of shared data.
 *
 * The program declares it, and tells the end of each job of a periodic thread. Cache-aware policies
 * (sched/cache.h) read it when the thread becomes ready. Other policies do not look at it.
 *
 * Callers: both APIs (the functions below, outside the runtime); policies, in enqueue
 * (demand_read).
 *
 * A thread's record hangs on its slot of the id table. A thread that never demanded anything has
 * none, and costs one load. Slots and records are never freed.
 *
 * Invariants:
 *   1. slot->demand is set once, from NULL, under the lock (release). ORDER(demand)
 *   2. The values belong to the life that `life` names; a later life of the slot demands nothing.
 *      They are read and written under the lock.
 *   3. link belongs to the policy that has the thread in a queue, and is guarded by its lock.
 * Lock: that of the demands (RANK_DEMAND), before those of policies.
 */
#ifndef PIRN_CORE_DEMAND_H
#define PIRN_CORE_DEMAND_H

#include <errno.h>

#include "id.h"
#include "misses.h"

/* Longest period: 146 years. */
#define RT_PERIOD_MAX (UINT64_MAX / 4)

/* Bytes of a record for the policy. */
#define RT_DEMAND_ROOM 128

/* Layout of pirn_demand_t. */
struct rt_demand {
    uint64_t period_ns;   /* 0: no periodic thread */
    uint64_t cost_ns;     /* worst-case time of a job; at most the period, if there is one */
    uint64_t working_set; /* bytes of cache */
    uint32_t group;       /* threads of a group share data; 0: none */
};

/* What a policy reads of it. */
struct demand_now {
    uint64_t working_set; /* measured, if the policy measures and has measured; else declared */
    uint64_t deadline;    /* of the current job, in ns of port_now; 0: it has none */
    uint32_t group;
};

struct demand {
    uint32_t life;                     /* (lock) */
    struct rt_demand values;           /* (lock) */
    uint64_t release;                  /* (lock) of the current job: ns of port_now */
    struct measured measured;          /* (lock) working set of its jobs */
    _Atomic(uint32_t) missed;          /* (A) misses of the current job: misses.h */
    struct list link;                  /* (P) */
    struct thread *thread;             /* (P) while linked */
    uint64_t room[RT_DEMAND_ROOM / 8]; /* (P) zero in a new record; of an earlier life, perhaps */
};

#if RT_DEMANDS
/*
 * Declare what t demands; all zero: nothing. It counts from the next time when t becomes ready. A
 * new period begins now: t's current job is released at this moment. Outside the runtime. 0 or
 *   -ESRCH   t is NULL or has ended
 *   -EINVAL  no values; a period above RT_PERIOD_MAX; a cost above the period
 *   -ENOMEM  no memory for t's first record
 */
int rt_demand_set(struct thread *t, const struct rt_demand *values);

/* What was declared. 0, -ESRCH, -EINVAL. */
int rt_demand_get(struct thread *t, struct rt_demand *values);

/*
 * The caller's job has ended: its next job is released at *release, one period after the current
 * one. Returns how many releases have passed meanwhile, 0 if *release is yet to come; or -EINVAL:
 * the caller has no period. Outside the runtime.
 */
int rt_job_next(uint64_t *release);

/* The working set that was measured of t's jobs; 0: none yet. For tests. */
uint64_t rt_demand_measured(struct thread *t);

/* The record of t's slot; NULL: there is none. */
ALWAYS_INLINE struct demand *demand_of(const struct thread *t)
{
    return at_load_acq(&t->id_slot->demand); /* ORDER(demand) */
}

bool demand_read_slow(struct demand *d, uint32_t life, struct demand_now *now);

/* What t, which becomes ready, demands; false: nothing. Inside the runtime. */
ALWAYS_INLINE bool demand_read(const struct thread *t, struct demand_now *now)
{
    struct demand *d = demand_of(t);
    return unlikely(d != NULL) && demand_read_slow(d, t->generation, now);
}

/* In the child of a fork: no thread is ready but the caller, and no other holds the lock. */
void demands_forked(void);

/* The end of a simulator run: free all records. Before id_reset. */
void demands_reset(void);
#else
ALWAYS_INLINE int rt_demand_set(struct thread *t, const struct rt_demand *values)
{
    (void)t;
    (void)values;
    return -ENOTSUP;
}
ALWAYS_INLINE int rt_demand_get(struct thread *t, struct rt_demand *values)
{
    (void)t;
    (void)values;
    return -ENOTSUP;
}
ALWAYS_INLINE int rt_job_next(uint64_t *release)
{
    (void)release;
    return -ENOTSUP;
}
ALWAYS_INLINE void demands_forked(void) {}
ALWAYS_INLINE void demands_reset(void) {}
#endif

#endif
