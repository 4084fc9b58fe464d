/* SPDX-License-Identifier: MIT */
/*
 * producers.h - which threads produce data for which: the dependencies of task affinity.
 *
 * A thread (the consumer) that reads what other threads (its producers) write depends on them. The
 * program declares that (pirn_affinity_add), or the option affinity does, by names. A policy with
 * affinity (sched/affinity.h) places a consumer that wakes by it. Without one the record is kept
 * and has no effect.
 *
 * Callers: both APIs and the option (the functions below, outside the runtime); sched/affinity.c,
 * which reads the record of a thread that becomes ready.
 *
 * A consumer's record hangs on its slot of the id table, and names threads by slot and life, never
 * by pointer. So a producer, or the consumer, may end at any moment: a life that is over equals no
 * living thread's, and its entry has no effect. Slots and records are never freed.
 *
 * Invariants:
 *   1. slot->consumer is set once, from NULL, under the graph's lock (release). A record belongs to
 *      the life that `life` names; a later life of the slot begins with an empty one.
 *   2. `life`, `count` and `of` are written under the graph's lock and read without: the scheduler
 *      may see an entry while it changes, half of it old. It compares, and follows only pointers to
 *      slots; so a wrong value costs a wrong place for one wake-up. `count` is stored last
 *      (release): entries below it have a slot. ORDER(consumer)
 *   3. The graph has no circle among threads that live: checked under the graph's lock, which is
 *      held for as long as it takes to visit all direct and indirect producers of one thread.
 * Locks: the graph's (RANK_PRODUCERS), under which the id table's is taken.
 */
#ifndef PIRN_CORE_PRODUCERS_H
#define PIRN_CORE_PRODUCERS_H

#include "id.h"

/* Of one consumer. */
#define RT_PRODUCERS_MAX 16u

struct producer {
    _Atomic(struct id_slot *) slot; /* (A) */
    _Atomic(uint32_t) life;         /* (A) generation of the id */
    uint32_t index;                 /* (graph lock) */
};

/* One that was learned: sched/affinity_learn.c. */
#define RT_PRODUCERS_SEEN 4u
struct producer_seen {
    _Atomic(struct id_slot *) slot; /* (A) */
    _Atomic(uint32_t) life;         /* (A) */
    _Atomic(uint32_t) weight;       /* (A) 0: none */
};

struct consumer {
    _Atomic(uint32_t) life;  /* (A) of the consumer */
    _Atomic(uint32_t) count; /* (A) producers */
    struct producer of[RT_PRODUCERS_MAX];

    _Atomic(uint32_t) seen_life; /* (A) whose entries `seen` has */
    struct producer_seen seen[RT_PRODUCERS_SEEN];

    /* Of a consumer that is ready: sched/affinity.c, under the lock of a CPU's consumers. */
    struct list link;
    struct thread *thread;
    _Atomic(uint32_t) queued; /* 0, or 1 + the number of the CPU in whose queue it is */

    struct consumer *next; /* (graph lock) of those that are to be visited */
    uint32_t visit;        /* (graph lock) the last search that has come here */
};

/* A life of a thread, which may be over. */
struct life {
    struct id_slot *slot;
    uint32_t index, generation;
};

ALWAYS_INLINE struct life life_of(const struct thread *t)
{
    return (struct life){t->id_slot, t->index, t->generation};
}

#if RT_AFFINITY
/* The option affinity: "", or rules (producers_names.c). */
struct producers_options {
    char names[256];
};
HIDDEN extern struct producers_options producers_options;
int producers_check_names(const char *value, const char **why);

/*
 * `consumer` depends on `producer`, or no longer. Adding a dependency that exists changes nothing.
 * Any thread may call, outside the runtime; no cancellation point. 0 or
 *   -ESRCH   one of them is NULL or has ended
 *   -EINVAL  add: they are the same thread
 *   -ELOOP   add: `producer` depends on `consumer`, directly or through others
 *   -ENOSPC  add: it has RT_PRODUCERS_MAX producers that live
 *   -ENOMEM  add: no memory for its first one
 *   -ENOENT  del: there is no such dependency
 */
int rt_producer_add(struct thread *consumer, struct thread *producer);
int rt_producer_del(struct thread *consumer, struct thread *producer);

/* The same for lives of which either may be over; then nothing depends on anything. */
int producers_add(struct life consumer, struct life producer);

/* t, which has not ended, has got a name. Inside or outside the runtime, without locks. */
void producers_named_slow(struct thread *t);

ALWAYS_INLINE void producers_named(struct thread *t)
{
    if (unlikely(producers_options.names[0] != '\0')) {
        producers_named_slow(t);
    }
}

/* How many entries of c->of are set. */
ALWAYS_INLINE uint32_t rt_producer_count(const struct consumer *c)
{
    return at_load_acq(&c->count); /* ORDER(consumer) */
}

/* The record of t's slot, which may be that of an earlier life; NULL: there is none yet. */
ALWAYS_INLINE struct consumer *rt_record_of(const struct thread *t)
{
    return at_load_acq(&t->id_slot->consumer); /* ORDER(consumer) */
}

/* Is t a declared producer of that life? */
bool rt_is_producer(const struct consumer *c, uint32_t life, const struct thread *t);

/* Make a record for t's slot, if there is none. 0 or -ENOMEM. */
int rt_record_reserve(const struct thread *t);

/* In the child of a fork: no thread is ready but the caller, and no other holds the lock. */
void producers_forked(void);

/* The end of a simulator run: free all records. Before id_reset. */
void producers_reset(void);
#else
ALWAYS_INLINE int rt_producer_add(struct thread *consumer, struct thread *producer)
{
    (void)consumer;
    (void)producer;
    return -ENOTSUP;
}
ALWAYS_INLINE int rt_producer_del(struct thread *consumer, struct thread *producer)
{
    (void)consumer;
    (void)producer;
    return -ENOTSUP;
}
ALWAYS_INLINE void producers_named(struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE void producers_forked(void) {}
ALWAYS_INLINE void producers_reset(void) {}
#endif

#endif
