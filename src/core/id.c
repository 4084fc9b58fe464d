/* SPDX-License-Identifier: MIT */
/*
 * id.c - see id.h.
 *
 * The table is an array of chunks that are never freed, so reading an entry needs no lock. Joins
 * are recorded in the table and not in the descriptors, because the walk along a chain of joins
 * must not touch memory that may be gone.
 *
 * Cycle detection: a joiner writes its target, takes the join lock, then reads the chain. Two
 * joiners that close a cycle at the same moment both write before they read; a full fence in
 * between makes at least one see the other. ORDER(join-cycle). The write comes before the lock's
 * read-modify-write, which on x86 is that fence (at_fence_after_rmw): a write after it could still
 * be in the store buffer.
 *
 * A joiner that sees a cycle looks again with the table's lock held. Under that lock a refused join
 * takes its target back, so only one of the joins that have seen the same cycle is refused.
 *
 * Lock: id_table.lock (RANK_ID) for assigning and releasing indexes, and for refusing joins.
 */
#include <errno.h>

#include "id.h"
#include "options.h"
#include "runtime.h"

#define CHUNK_BITS ID_CHUNK_BITS
#define CHUNK_SIZE (1u << CHUNK_BITS)
#define CHUNKS ID_CHUNKS

static struct {
    spinlock_t lock;
    uint32_t used; /* (lock) indexes ever given, or kept: 0 .. used - 1 */
    uint32_t free; /* (lock) head of the free list, 0 = none */
    uint32_t kept; /* (lock) for idle threads: the first indexes; 0: they came first */
    uint32_t idle; /* (lock) and how many of those are given */
} id_table;

_Atomic(struct id_slot *) id_chunk[CHUNKS];

/* Where kernel threads have ids before the runtime starts, the first chunk is part of the program:
 * functions that cannot fail, such as pthread_setcancelstate, need one even without memory. */
static struct id_slot first_chunk[PORT_IDENTITY ? CHUNK_SIZE : 0] ALIGNED(RT_CACHELINE);

static struct id_slot *slot_of(uint32_t index)
{
    if (index >> CHUNK_BITS >= CHUNKS) {
        return NULL;
    }
    struct id_slot *chunk = at_load_acq(&id_chunk[index >> CHUNK_BITS]); /* ORDER(id-chunk) */
    return chunk != NULL ? &chunk[index & (CHUNK_SIZE - 1)] : NULL;
}

static struct id_slot *slot_new_locked(uint32_t index)
{
    struct id_slot *entry = slot_of(index);
    if (entry == NULL && index >> CHUNK_BITS < CHUNKS) {
        struct id_slot *chunk = PORT_IDENTITY && index >> CHUNK_BITS == 0
                                    ? first_chunk
                                    : port_table_alloc(CHUNK_SIZE * sizeof(struct id_slot));
        if (chunk == NULL) {
            return NULL;
        }
        at_store_rel(&id_chunk[index >> CHUNK_BITS], chunk); /* ORDER(id-chunk) */
        entry = slot_of(index);
    }
    return entry;
}

/* Threads may have ids before the CPUs are made; those of their idle threads are the first. The
 * number of CPUs is learnt under the lock, because several kernel threads may come at once. It is
 * not set again meanwhile: the thread that starts the runtime has an id by then. */
static uint32_t index_locked(const struct thread *t)
{
    if (id_table.used == 0 && !(t->flags & THREAD_IDLE)) {
        if (PORT_IDENTITY && rt.ncpu == 0) {
            options_load_of("cpus");
        }
        id_table.used = id_table.kept = rt.ncpu != 0 ? rt.ncpu : 1;
    }
    if ((t->flags & THREAD_IDLE) && id_table.idle < id_table.kept) {
        return id_table.idle;
    }
    return id_table.free != 0 ? id_table.free : id_table.used;
}

static void index_taken_locked(uint32_t index, const struct id_slot *entry)
{
    if (index < id_table.kept && index == id_table.idle) {
        id_table.idle++;
    } else if (index == id_table.used) {
        id_table.used++;
    } else {
        id_table.free = entry->next_free;
    }
}

int id_assign(struct thread *t)
{
    spin_lock(&id_table.lock, RANK_ID);
    uint32_t index = index_locked(t);
    struct id_slot *entry = slot_new_locked(index);
    if (entry != NULL) {
        index_taken_locked(index, entry);
        t->index = index;
        t->id_slot = entry;
        t->generation = entry->generation;
        at_store_rlx(&entry->join_target, 0u);
        at_store_rel(&entry->thread, t); /* ORDER(id-entry) */
    }
    spin_unlock(&id_table.lock, RANK_ID);
    return entry != NULL ? 0 : -ENOMEM;
}

void id_release(struct thread *t)
{
    struct id_slot *entry = slot_of(t->index);
    spin_lock(&id_table.lock, RANK_ID);
    at_store_rlx(&entry->thread, (struct thread *)NULL);
    entry->generation = t->generation + 1;
    entry->next_free = id_table.free;
    id_table.free = t->index;
    spin_unlock(&id_table.lock, RANK_ID);
}

uint64_t id_of(const struct thread *t)
{
    return (uint64_t)t->generation << 32 | t->index;
}

struct thread *id_lookup(uint64_t id)
{
    struct id_slot *entry = slot_of((uint32_t)id);
    struct thread *t = entry != NULL ? at_load_acq(&entry->thread) : NULL; /* ORDER(id-entry) */
    return t != NULL && t->generation == id >> 32 ? t : NULL;
}

/* A life that begins or has ended is none; nor is that of an idle thread or a stand-in. */
static bool id_lives(struct thread *t, uint32_t generation, uint32_t mask)
{
    uint32_t state = at_load_rlx(&t->state);
    return state != THREAD_NEW && state != THREAD_EXITED &&
           ((t->generation ^ generation) & mask) == 0 &&
           !(t->flags & (THREAD_IDLE | THREAD_FOREIGN));
}

bool id_visit(uint32_t index, uint32_t generation, uint32_t mask, bool lock,
              void (*fn)(struct thread *t, void *arg), void *arg)
{
    struct id_slot *entry = slot_of(index);
    if (entry == NULL) {
        return false;
    }
    if (lock) {
        spin_lock(&id_table.lock, RANK_ID);
    }
    struct thread *t = at_load_acq(&entry->thread); /* ORDER(id-entry) */
    bool found = t != NULL && id_lives(t, generation, mask);
    if (found) {
        fn(t, arg);
    }
    if (lock) {
        spin_unlock(&id_table.lock, RANK_ID);
    }
    return found;
}

struct thread *id_thread(uint32_t index)
{
    return at_load_acq(&slot_of(index)->thread); /* ORDER(id-entry) */
}

bool id_join_walk(struct thread *self, uint32_t at)
{
    for (uint32_t steps = 0; at != 0 && steps < CHUNK_SIZE * CHUNKS; steps++) {
        if (at == self->index) {
            return true;
        }
        at = at_load_rlx(&slot_of(at)->join_target); /* ORDER(join-cycle) */
    }
    return false;
}

bool id_join_refuse(struct thread *self, struct thread *t)
{
    spin_lock(&id_table.lock, RANK_ID);
    bool closes = id_join_walk(self, t->index);
    if (closes) {
        id_join_clear(self);
    }
    spin_unlock(&id_table.lock, RANK_ID);
    return closes;
}

uint32_t id_bound(void)
{
    spin_lock(&id_table.lock, RANK_ID);
    uint32_t bound = id_table.used;
    spin_unlock(&id_table.lock, RANK_ID);
    return bound;
}

void id_for_each(void (*fn)(struct thread *t, void *arg), void *arg)
{
    for (uint32_t i = 0; slot_of(i) != NULL; i++) {
        struct thread *t = at_load_acq(&slot_of(i)->thread); /* ORDER(id-entry) */
        if (t != NULL) {
            fn(t, arg);
        }
    }
}

void id_for_each_locked(void (*fn)(struct thread *t, void *arg), void *arg)
{
    spin_lock(&id_table.lock, RANK_ID);
    for (uint32_t i = 0; i < id_table.used; i++) {
        struct thread *t = at_load_acq(&slot_of(i)->thread); /* ORDER(id-entry) */
        if (t != NULL) {
            fn(t, arg);
        }
    }
    spin_unlock(&id_table.lock, RANK_ID);
}

struct thread *id_find_locked(bool (*fn)(struct thread *t, void *arg), void *arg)
{
    struct thread *found = NULL;
    spin_lock(&id_table.lock, RANK_ID);
    for (uint32_t i = 0; i < id_table.used && found == NULL; i++) {
        struct thread *t = at_load_acq(&slot_of(i)->thread); /* ORDER(id-entry) */
        if (t != NULL && fn(t, arg)) {
            found = t;
        }
    }
    spin_unlock(&id_table.lock, RANK_ID);
    return found;
}

void id_reset(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct id_slot *chunk = at_load_rlx(&id_chunk[i]);
        if (chunk == NULL) {
            break;
        }
        port_table_free(chunk, CHUNK_SIZE * sizeof(struct id_slot));
        at_init(&id_chunk[i], (struct id_slot *)NULL);
    }
    id_table.used = id_table.free = id_table.kept = id_table.idle = 0;
    at_init(&id_table.lock.word, 0u); /* a foreign thread may have been inside when a run ended */
}

void id_forked(void)
{
    at_init(&id_table.lock.word, 0u);
}
