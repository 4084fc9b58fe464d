/* SPDX-License-Identifier: MIT */
/*
 * queues.h - locks and queues of the software schedulers, correct under RVWMO.
 *
 * Entries are words: the address of a descriptor, or a range of threads (soft.c). A word that is
 * taken from a queue leads to memory that another hart has written; each pair below orders that:
 *
 *   Locks     The release (fence rw,w, or .rl) comes after all stores under the lock; the acquire
 *             (fence after the read, or .aq) before all loads. The device of TAS locks is not
 *             memory, so its fences name input and output: a full fence.
 *   Deque     Chase and Lev's, with the fences of Le, Pop, Cohen and Nardelli (PPoPP 2013): a push
 *             stores the entry and then, with release, `bottom`; a thief reads `bottom` with
 *             acquire. The owner's store of `bottom` and its load of `top` must not pass each
 *             other, nor a thief's two loads: both have a sequentially consistent fence between.
 *
 * Rules:
 *   1. A deque has one owner, which alone pushes and pops. Thieves call steal only.
 *   2. Deques do not grow: they have room for all threads of a run, and ranges.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>
#include <stddef.h>

#include "threads.h"

typedef uint32_t word;

#define INLINE static inline __attribute__((always_inline))

enum { ROOM = 2 * THREADS_MAX, BACKOFF_LEAST = 32, BACKOFF_MOST = 2048 };

/* What a hart knows alone. */
struct self {
    uint32_t hart, harts;
    uint32_t random;
    uint32_t idle; /* the most cycles to wait after the queue was found empty */
    struct mcs {
        struct mcs *next; /* (A) */
        uint32_t waits;   /* (A) */
    } node __attribute__((aligned(LINE)));
};

INLINE uint32_t random_next(struct self *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 17;
    self->random ^= self->random << 5;
    return self->random;
}

/* Twice as long each time, until idle_end. */
INLINE void idle_wait(struct self *self)
{
    wait_cycles(random_next(self) & (self->idle - 1));
    self->idle = self->idle < BACKOFF_MOST ? 2 * self->idle : self->idle;
}

INLINE void idle_end(struct self *self)
{
    self->idle = BACKOFF_LEAST;
}

#define LOAD(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define STORE(at, value) __atomic_store_n(at, value, __ATOMIC_RELAXED)

/* The weakest instructions that RVWMO allows. The compiler's own are full fences, and each would
 * wait for stores that are on their way. */
#define FENCE(before, after) __asm__ volatile("fence " #before ", " #after ::: "memory")

#define LOAD_ACQUIRE(at)                                                                           \
    __extension__({                                                                                \
        __typeof__(*(at)) loaded_ = LOAD(at);                                                      \
        FENCE(r, rw);                                                                              \
        loaded_;                                                                                   \
    })

#define STORE_RELEASE(at, value)                                                                   \
    do {                                                                                           \
        FENCE(rw, w);                                                                              \
        STORE(at, value);                                                                          \
    } while (0)

/* Acquire and release. */
INLINE word swap(void *at, word value)
{
    word old;
    __asm__ volatile("amoswap.w.aqrl %0, %2, (%1)" : "=r"(old) : "r"(at), "r"(value) : "memory");
    return old;
}

INLINE bool compare_and_swap(void *at, word expected, word value)
{
    word old, failed;
    __asm__ volatile("1: lr.w.aqrl %0, (%2)\n\t"
                     "li %1, 1\n\t"
                     "bne %0, %3, 2f\n\t"
                     "sc.w.rl %1, %4, (%2)\n\t"
                     "bnez %1, 1b\n\t"
                     "2:"
                     : "=&r"(old), "=&r"(failed)
                     : "r"(at), "r"(expected), "r"(value)
                     : "memory");
    return failed == 0;
}

/* ---- locks ---- */

#define TAS                                                                                        \
    ((volatile uint32_t *)0x12000080) /* a device: reading sets it; not those of scheduler.inc */

INLINE void device_fence(void)
{
    __asm__ volatile("fence iorw, iorw" ::: "memory");
}

INLINE void tas_lock(struct self *self)
{
    (void)self;
    while (*TAS != 0) {
    }
    device_fence();
}

INLINE void tas_backoff_lock(struct self *self)
{
    for (uint32_t most = BACKOFF_LEAST; *TAS != 0; most = most < BACKOFF_MOST ? 2 * most : most) {
        wait_cycles(random_next(self) & (most - 1));
    }
    device_fence();
}

INLINE void tas_unlock(struct self *self)
{
    (void)self;
    device_fence();
    *TAS = 0;
}

static struct {
    uint32_t next __attribute__((aligned(LINE))); /* (A) */
    uint32_t serves __attribute__((aligned(LINE)));
} ticket;

INLINE void ticket_lock(struct self *self)
{
    (void)self;
    uint32_t mine = __atomic_fetch_add(&ticket.next, 1, __ATOMIC_RELAXED);
    while (LOAD_ACQUIRE(&ticket.serves) != mine) {
        pause();
    }
}

INLINE void ticket_unlock(struct self *self)
{
    (void)self;
    STORE_RELEASE(&ticket.serves, LOAD(&ticket.serves) + 1);
}

static word mcs_tail __attribute__((aligned(LINE))); /* (A) the address of a struct mcs */

INLINE void mcs_lock(struct self *self)
{
    STORE(&self->node.next, (struct mcs *)NULL);
    STORE(&self->node.waits, 1);
    struct mcs *before = (struct mcs *)swap(&mcs_tail, (word)&self->node);
    if (before != NULL) {
        STORE(&before->next, &self->node);
        while (LOAD_ACQUIRE(&self->node.waits) != 0) {
            pause();
        }
    }
}

INLINE void mcs_unlock(struct self *self)
{
    struct mcs *next = LOAD_ACQUIRE(&self->node.next);
    if (next == NULL) {
        if (compare_and_swap(&mcs_tail, (word)&self->node, 0)) {
            return;
        }
        while ((next = LOAD_ACQUIRE(&self->node.next)) == NULL) {
        }
    }
    STORE_RELEASE(&next->waits, 0);
}

/* ---- a deque for each hart ---- */

struct deque {
    int32_t top __attribute__((aligned(LINE)));    /* (A) the oldest; thieves */
    int32_t bottom __attribute__((aligned(LINE))); /* (A) behind the youngest; the owner */
    uint32_t lock __attribute__((aligned(LINE)));  /* (A) only of the locked deque */
    word entries[ROOM] __attribute__((aligned(LINE)));
};

static struct deque deques[HARTS_MAX];

INLINE word *entry(struct deque *deque, int32_t at)
{
    return &deque->entries[(uint32_t)at % ROOM];
}

INLINE void deque_push(struct deque *deque, word what)
{
    int32_t bottom = LOAD(&deque->bottom);
    STORE(entry(deque, bottom), what);
    STORE_RELEASE(&deque->bottom, bottom + 1);
}

INLINE word deque_pop(struct deque *deque)
{
    int32_t bottom = LOAD(&deque->bottom) - 1;
    if (LOAD(&deque->top) > bottom) {
        return 0; /* only the owner adds entries: it is empty */
    }
    STORE(&deque->bottom, bottom);
    FENCE(rw, rw);
    int32_t top = LOAD(&deque->top);
    word what = LOAD(entry(deque, bottom));
    if (top < bottom) {
        return what;
    }
    if (top > bottom || !compare_and_swap(&deque->top, (word)top, (word)top + 1)) {
        what = 0;
    }
    STORE(&deque->bottom, bottom + 1);
    return what;
}

INLINE word deque_steal(struct deque *deque)
{
    int32_t top = LOAD_ACQUIRE(&deque->top);
    FENCE(rw, rw);
    int32_t bottom = LOAD_ACQUIRE(&deque->bottom);
    if (top >= bottom) {
        return 0;
    }
    word what = LOAD(entry(deque, top));
    return compare_and_swap(&deque->top, (word)top, (word)top + 1) ? what : 0;
}

/* ---- the same under a lock, because half of Chase and Lev's deque cannot be taken at once: the
 *      owner pops without a compare-and-swap as long as more than one entry is left ---- */

INLINE void deque_lock(struct deque *deque)
{
    while (LOAD(&deque->lock) != 0 || swap(&deque->lock, 1) != 0) {
        pause();
    }
}

INLINE void deque_unlock(struct deque *deque)
{
    STORE_RELEASE(&deque->lock, 0);
}

INLINE int32_t deque_length(struct deque *deque)
{
    return LOAD(&deque->bottom) - LOAD(&deque->top);
}

INLINE void locked_push(struct deque *deque, word what)
{
    deque_lock(deque);
    int32_t bottom = LOAD(&deque->bottom);
    STORE(entry(deque, bottom), what);
    STORE(&deque->bottom, bottom + 1);
    deque_unlock(deque);
}

INLINE word locked_pop(struct deque *deque)
{
    word what = 0;
    if (deque_length(deque) > 0) {
        deque_lock(deque);
        if (deque_length(deque) > 0) {
            int32_t bottom = LOAD(&deque->bottom) - 1;
            what = LOAD(entry(deque, bottom));
            STORE(&deque->bottom, bottom);
        }
        deque_unlock(deque);
    }
    return what;
}

/* The oldest half, at most HALF_MOST: the oldest is returned, the others come to the own deque. */
INLINE word locked_steal_half(struct deque *from, struct deque *own)
{
    enum { HALF_MOST = 16 };
    word taken[HALF_MOST];
    if (deque_length(from) <= 0) {
        return 0;
    }
    deque_lock(from);
    int32_t count = (deque_length(from) + 1) / 2, top = LOAD(&from->top);
    count = count > HALF_MOST ? HALF_MOST : count;
    for (int32_t i = 0; i < count; i++) {
        taken[i] = LOAD(entry(from, top + i));
    }
    STORE(&from->top, top + count);
    deque_unlock(from);
    if (count > 1) {
        deque_lock(own);
        int32_t bottom = LOAD(&own->bottom);
        for (int32_t i = 1; i < count; i++) {
            STORE(entry(own, bottom + i - 1), taken[i]);
        }
        STORE(&own->bottom, bottom + count - 1);
        deque_unlock(own);
    }
    return count > 0 ? taken[0] : 0;
}

#endif
