/* SPDX-License-Identifier: MIT */
/*
 * steal.h - shared by the files of policy "steal": steal.c (queues, the operations of a switch,
 * the table), steal_search.c (thieves), steal_capacity.c (CPUs of different speeds),
 * steal_preempt.c (preemption and changes of priority; only where there are classes).
 */
#ifndef PIRN_SCHED_STEAL_H
#define PIRN_SCHED_STEAL_H

#include "runq.h"

enum { VICTIM_NEIGHBOUR, VICTIM_MAX, VICTIM_RANDOM };

struct steal_queue;

struct stealable {
    struct list rq;
    _Atomic(struct steal_queue *) in;
};
_Static_assert(sizeof(struct stealable) <= RT_POLICY_ROOM, "RT_POLICY_ROOM");

struct steal_queue {
    struct biaslock lock ALIGNED(RT_CACHELINE);
    struct runq q;    /* (lock) */
    bool head_is_far; /* (lock) the thread that a join took last was not at the head */
    uint32_t turns;   /* (O) picks up to the one that looks into the shared queue; never 0 */

    /* (O) the thief's own notes */
    uint32_t looks ALIGNED(RT_CACHELINE);
    uint32_t look_from;         /* where a look begins, among the CPUs that are not near */
    uint32_t seen_victim, seen; /* queue that was non-empty at the last look, how often in a row */
    uint64_t random;
    uint64_t batch_since; /* when the last batch was stolen; 0 = none */
    uint32_t batch_size;
    uint64_t backoff_ns, backoff_until;
#if RT_CAPACITIES
    /* (O) steal_capacity.c, for the time without work: */
    uint32_t asked;   /* the CPU whose thread this one wants */
    uint32_t nothing; /* looks that have found no ready thread */
    uint64_t defers_until;
    uint64_t given;         /* (O) running threads that others have taken over */
    _Atomic(uint32_t) idle; /* (O) written, read by all: 1, the CPU has no thread */
#endif
};

/* Options (C): the default of each is 0, for builds in which nothing sets them (policy.h). */
HIDDEN extern struct steal {
    unsigned victim; /* VICTIM_NEIGHBOUR and so on */
    bool one;        /* amount=one, not half */
    bool from_tail;  /* end=tail, not far */
    spinlock_t shared_lock;
    struct runq shared;        /* (shared_lock) */
    _Atomic(uint32_t) urgency; /* (shared_lock) of the first in it; read without */
    struct steal_queue queues[RT_MAX_CPUS];
} steal;

ALWAYS_INLINE struct stealable *stealable_of(struct thread *t)
{
    return (struct stealable *)t->policy;
}

ALWAYS_INLINE struct steal_queue *queue_of(const struct cpu *self)
{
    return self->own;
}

#define SHARED_EVERY 64u

/* Count a pick: is it one that looks into the shared queue? */
ALWAYS_INLINE bool shared_turn(struct steal_queue *sq)
{
    if (likely(--sq->turns != 0)) {
        return false;
    }
    sq->turns = SHARED_EVERY;
    return true;
}
#define BATCH_MAX 256u /* threads that are moved at once */

#define SHARED ((struct steal_queue *)1) /* stealable.in of a thread in the shared queue */

/* ---- steal.c ---- */

/* Put t into the shared queue. Returns its urgency as of then; a later change of priority finds t
 * in the queue. */
uint32_t steal_shared_push(struct thread *t, enum pirn_why why);

/* The shared queue has changed; next (or NULL) was taken from it, and is the result. */
struct thread *steal_shared_taken_locked(struct thread *next);

/* Put t into the CPU's own queue. False: t has become a real-time thread, and is in no queue. */
bool steal_own_push(struct cpu *self, struct thread *t, enum pirn_why why);

/* Policy operation enqueue, the long way, under any discipline. */
struct pirn_kick steal_enqueue_long(struct cpu *self, struct thread *t, enum pirn_why why);

/* ---- steal_search.c: policy operations ---- */

struct thread *steal_search(struct cpu *self);
void steal_idle_enter(struct cpu *self);

/* ---- steal_capacity.c: where rt.by_capacity ---- */

#if RT_CAPACITIES
HIDDEN extern const struct sched_capacity steal_capacity;
#define STEAL_CAPACITY (&steal_capacity)

/* A CPU is out of work; has work. */
void steal_capacity_enter(struct cpu *self);
void steal_idle_exit(struct cpu *self);

/* Policy operation stat. */
void steal_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                void *to);

/* Is a ready thread of others to be left to a faster CPU? */
bool steal_capacity_defers(struct cpu *self);

/* A look has found no ready thread. */
void steal_capacity_nothing(struct cpu *self);
#else
#define STEAL_CAPACITY NULL
#define steal_idle_exit NULL
#define steal_stat NULL
ALWAYS_INLINE void steal_capacity_enter(struct cpu *self)
{
    (void)self;
}
ALWAYS_INLINE bool steal_capacity_defers(struct cpu *self)
{
    (void)self;
    return false;
}
ALWAYS_INLINE void steal_capacity_nothing(struct cpu *self)
{
    (void)self;
}
#endif

/* ---- steal_preempt.c: with classes ---- */

/* Move threads of class OTHER that foreign threads made ready to the CPU's own queue, where they
 * compete by virtual time. In the shared queue each would wait for a turn of that queue. */
void steal_shared_drain(struct cpu *self);

/* Policy operations. */
struct thread *steal_preempt(struct cpu *self, struct thread *running, enum pirn_why why);
void steal_requeue(struct thread *t);

#endif
