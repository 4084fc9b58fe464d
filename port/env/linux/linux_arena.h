/* SPDX-License-Identifier: MIT */
/*
 * linux_arena.h (Linux) - which slots of which arenas are free: the lists of linux_stack.c, which
 * has the lock and makes the mappings. Here is no system call, so a test can count the steps
 * (tests/unit/arenas.c).
 *
 * An arena is a row of equal slots. Arenas whose slots have the same size and guard are a kind.
 * Kinds are found by hashing; all else takes a fixed number of steps, however many arenas there
 * are.
 *
 * Invariants:
 *   1. A slot is free, or handed out. Free ones are on free[0 .. nfree-1], or at bump and above:
 *      those were never handed out.
 *   2. An arena with a free slot is linked in its kind's list, others are not.
 *   3. An arena without a slot that is handed out is also linked in `spare`. At most ARENA_SPARES
 *      are, but for the moment between arena_return and arena_surplus. A program that makes and
 *      ends threads would otherwise map and unmap an arena each time.
 *   4. A kind exists while it has arenas.
 * Lock: the caller's.
 */
#ifndef PIRN_LINUX_ARENA_H
#define PIRN_LINUX_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

#define ARENA_SLOTS 512u
#define ARENA_SPARES 4u
#define ARENA_BUCKETS 256u

/* A link is followed. A test counts that. */
#ifndef ARENA_STEP
#define ARENA_STEP() ((void)0)
#endif

struct arena_kind {
    struct arena_kind *next; /* in its bucket */
    size_t slot;             /* bytes, guard included */
    size_t guard;            /* bytes, may be 0 */
    struct list roomy;       /* invariant 2; the last to get room comes first */
    unsigned arenas;
};

struct arena {
    struct list link;  /* invariant 2 */
    struct list spare; /* invariant 3 */
    struct arena_kind *kind;
    char *base;
    unsigned slots, bump, nfree;
    uint16_t free[ARENA_SLOTS];
    uint32_t known[ARENA_SLOTS]; /* what Valgrind calls the stacks that are handed out */
};

struct arenas {
    struct arena_kind *buckets[ARENA_BUCKETS];
    struct list spare; /* oldest first */
    unsigned spares;
};

ALWAYS_INLINE void arenas_init(struct arenas *all)
{
    list_init(&all->spare);
}

ALWAYS_INLINE bool arena_roomy(const struct arena *a)
{
    return a->nfree != 0 || a->bump != a->slots;
}

ALWAYS_INLINE bool arena_unused(const struct arena *a)
{
    return a->nfree == a->bump;
}

ALWAYS_INLINE struct arena_kind **arena_bucket(struct arenas *all, size_t slot, size_t guard)
{
    uint64_t key = (uint64_t)(slot / 4096) * 0x9e3779b97f4a7c15ull + guard / 4096;
    return &all->buckets[(key * 0x9e3779b97f4a7c15ull >> 32) % ARENA_BUCKETS];
}

static inline struct arena_kind *arena_kind_find(struct arenas *all, size_t slot, size_t guard)
{
    struct arena_kind *kind = *arena_bucket(all, slot, guard);
    for (; kind != NULL; kind = kind->next) {
        ARENA_STEP();
        if (kind->slot == slot && kind->guard == guard) {
            break;
        }
    }
    return kind;
}

/* An arena of the kind with a free slot; NULL: there is none. */
ALWAYS_INLINE struct arena *arena_of_kind(const struct arena_kind *kind)
{
    return kind == NULL || list_empty(&kind->roomy)
               ? NULL
               : CONTAINER_OF(kind->roomy.next, struct arena, link);
}

/* An arena whose base and slots are set; of an existing kind, or of a new one, which is cleared
 * memory. */
static inline void arena_add(struct arenas *all, struct arena_kind *kind, size_t slot, size_t guard,
                             struct arena *a)
{
    if (kind->arenas++ == 0) {
        struct arena_kind **bucket = arena_bucket(all, slot, guard);
        *kind = (struct arena_kind){.next = *bucket, .slot = slot, .guard = guard, .arenas = 1};
        list_init(&kind->roomy);
        *bucket = kind;
    }
    a->kind = kind;
    a->bump = a->nfree = 0;
    list_push_front(&kind->roomy, &a->link);
    list_push_back(&all->spare, &a->spare);
    all->spares++;
}

/* A slot that is free is handed out. `fresh`: it has not been before; it counts when arena_taken
 * says that it is used. */
ALWAYS_INLINE unsigned arena_next(const struct arena *a, bool *fresh)
{
    RT_ASSERT(arena_roomy(a));
    *fresh = a->nfree == 0;
    return *fresh ? a->bump : a->free[a->nfree - 1];
}

ALWAYS_INLINE void arena_taken(struct arenas *all, struct arena *a, bool fresh)
{
    if (arena_unused(a)) {
        list_remove(&a->spare);
        all->spares--;
    }
    a->bump += fresh;
    a->nfree -= !fresh;
    if (!arena_roomy(a)) {
        list_remove(&a->link);
    }
}

ALWAYS_INLINE void arena_return(struct arenas *all, struct arena *a, unsigned slot)
{
    RT_ASSERT(a->nfree < a->bump && slot < a->bump);
    if (!arena_roomy(a)) {
        list_push_front(&a->kind->roomy, &a->link);
    }
    a->free[a->nfree++] = (uint16_t)slot;
    if (arena_unused(a)) {
        list_push_back(&all->spare, &a->spare);
        all->spares++;
    }
}

/* Out of all lists. *kind: it was the last of that one, whose memory is the caller's now; or NULL.
 */
static inline void arena_remove(struct arenas *all, struct arena *a, struct arena_kind **kind)
{
    RT_ASSERT(arena_unused(a));
    list_remove(&a->spare);
    list_remove(&a->link);
    all->spares--;
    *kind = NULL;
    if (--a->kind->arenas == 0) {
        struct arena_kind **link = arena_bucket(all, a->kind->slot, a->kind->guard);
        while (*link != a->kind) {
            ARENA_STEP();
            link = &(*link)->next;
        }
        *link = a->kind->next;
        *kind = a->kind;
    }
}

/* One that is to be unmapped, out of all lists; NULL: there are few enough without users. */
static inline struct arena *arena_surplus(struct arenas *all, struct arena_kind **kind)
{
    if (all->spares <= ARENA_SPARES) {
        return NULL;
    }
    struct arena *a = CONTAINER_OF(all->spare.next, struct arena, spare);
    arena_remove(all, a, kind);
    return a;
}

#endif
