/* SPDX-License-Identifier: MIT */
/*
 * id.h - thread ids: O(1) from id to thread; the idle threads of the CPUs' first carriers have
 * ids below the number of CPUs.
 *
 * An id is (generation << 32 | index). The index belongs to a descriptor as long as the descriptor
 * exists (recycling keeps it), so creating a thread costs nothing here; the generation changes with
 * every life.
 */
#ifndef PIRN_CORE_ID_H
#define PIRN_CORE_ID_H

#include "compiler.h"

#include "thread.h"

/* Indexes are below 1 << ID_INDEX_BITS. */
#define ID_INDEX_BITS RT_ID_INDEX_BITS

/* The table: so many chunks of so many slots, for debuggers (sync/layout.h). */
#define ID_CHUNK_BITS RT_ID_CHUNK_BITS
#define ID_CHUNKS (1u << (ID_INDEX_BITS - ID_CHUNK_BITS))
struct id_slot;
struct consumer;
struct demand;
extern _Atomic(struct id_slot *) id_chunk[ID_CHUNKS];

/* A thread's entry in the table, to which it points: valid for ever. */
struct id_slot {
    _Atomic(struct thread *) thread;
    _Atomic(uint32_t) join_target; /* index this thread waits for in join, 0 = none */
    uint32_t generation;           /* (table's lock) of the next descriptor that gets the index */
    uint32_t next_free;            /* (table's lock) */
#if RT_AFFINITY
    _Atomic(uint32_t) ran_on; /* (A) 1 + the CPU that took the thread last: sched/affinity.c */
    _Atomic(struct consumer *) consumer; /* (A) its producers; NULL: it had none yet: producers.h */
#endif
#if RT_DEMANDS
    _Atomic(struct demand *) demand; /* (A) what it demands; NULL: nothing yet: demand.h */
#endif
};

/* Assign t->index. 0 or -ENOMEM. Called when a descriptor is made, not per thread. */
int id_assign(struct thread *t);
void id_release(struct thread *t);
uint64_t id_of(const struct thread *t);

/* The thread, or NULL if the id was never given or its life is over. The thread may exit at any
 * time. */
struct thread *id_lookup(uint64_t id);

/* Call fn for the thread with this index if it lives and the low bits of its generation, those in
 * `mask`, are these: false if not. With `lock` it does not go away meanwhile (without: for signal
 * handlers, which may have interrupted the lock's holder). Inside the runtime. */
bool id_visit(uint32_t index, uint32_t generation, uint32_t mask, bool lock,
              void (*fn)(struct thread *t, void *arg), void *arg);

/* The descriptor with this index, whichever life it is in; the caller knows that it exists. */
struct thread *id_thread(uint32_t index);

/* Record that `self` is going to wait in join for `t`; to be called before it takes t's join lock.
 */
ALWAYS_INLINE void id_join_announce(struct thread *self, struct thread *t)
{
    at_store_rlx(&self->id_slot->join_target, t->index); /* ORDER(join-cycle) */
}

COLD bool id_join_walk(struct thread *self, uint32_t at);

ALWAYS_INLINE void id_join_clear(struct thread *self)
{
    at_store_rlx(&self->id_slot->join_target, 0u);
}

/* Directly after taking t's join lock: true if following the targets from t leads back to self: a
 * deadlock. See id.c for why this is safe without locks. */
ALWAYS_INLINE bool id_join_closes_cycle(struct thread *self, struct thread *t)
{
    at_fence_after_rmw();                                  /* ORDER(join-cycle) */
    uint32_t next = at_load_rlx(&t->id_slot->join_target); /* ORDER(join-cycle) */
    return unlikely(next != 0) && id_join_walk(self, next);
}

/* After id_join_closes_cycle: does the cycle still exist? Then clear self's target; the caller
 * refuses the join. If several joins close a cycle at once, the first one is refused, and the
 * others close none any more. */
COLD bool id_join_refuse(struct thread *self, struct thread *t);

/* Above every index that was ever given. */
uint32_t id_bound(void);

/* Call fn for every descriptor that exists. */
void id_for_each(void (*fn)(struct thread *t, void *arg), void *arg);
/* The same with the table's lock held, so that none of them is freed meanwhile. */
void id_for_each_locked(void (*fn)(struct thread *t, void *arg), void *arg);
/* The first for which fn is true, looked for in the same way; NULL: none. It may be freed when the
 * call has returned, unless something else keeps it. */
struct thread *id_find_locked(bool (*fn)(struct thread *t, void *arg), void *arg);
void id_reset(void);
void id_forked(void); /* in the child: nobody else holds the lock */

#endif
