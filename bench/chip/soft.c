/* SPDX-License-Identifier: MIT */
/*
 * soft.c - software schedulers: a worker on each hart. Hart 0 is the parent and, when it has
 * created all threads, a worker like the others; with the hardware scheduler its hart takes
 * threads then, too.
 *
 * A scheduler is two functions: `put`, which the parent calls for each thread, and `next`, which
 * returns a word to execute, or 0 if it has found none. soft_run is compiled for each pair.
 */
#include <stdbool.h>

#include "queues.h"
#include "scheduler.h"

enum { RANGE_END = 12, LEAF = 8 }; /* a range in a word: first << RANGE_END | end */

_Static_assert(THREADS_MAX < 1 << RANGE_END, "a range is smaller than any address");

typedef void put_fn(struct self *self, word what);
typedef word next_fn(struct self *self);

static uint32_t arrived; /* (A) workers */
static struct {
    uint32_t count;     /* under the lock; others look at it */
    word entries[ROOM]; /* under the lock */
} lifo __attribute__((aligned(LINE)));

INLINE struct descriptor *make(uint32_t i)
{
    struct descriptor *thread = &descriptors[i];
    thread->body = options.workload == 'a' ? soft_a : options.workload == 'c' ? soft_c : soft_e;
    thread->context.time = template.time + i;
    thread->context.hart = template.hart + i;
    thread->context.units = template.units;
    thread->context.first = template.first;
    thread->context.line = template.line;
    thread->context.second = template.second ^ i;
    thread->context.control = template.control;
    thread->context.last = template.last;
    return thread;
}

/* ---- one LIFO ---- */

INLINE void lifo_put(struct self *self, word what, void (*lock)(struct self *),
                     void (*unlock)(struct self *))
{
    lock(self);
    lifo.entries[lifo.count] = what;
    STORE(&lifo.count, lifo.count + 1);
    unlock(self);
}

INLINE word lifo_next(struct self *self, bool looks, void (*lock)(struct self *),
                      void (*unlock)(struct self *))
{
    word what = 0;
    if (looks && LOAD(&lifo.count) == 0) {
        pause();
        return 0;
    }
    lock(self);
    if (lifo.count != 0) {
        what = lifo.entries[lifo.count - 1];
        STORE(&lifo.count, lifo.count - 1);
    }
    unlock(self);
    return what;
}

#define LIFO(name, looks, lock, unlock)                                                            \
    INLINE void name##_put(struct self *self, word what)                                           \
    {                                                                                              \
        lifo_put(self, what, lock, unlock);                                                        \
    }                                                                                              \
    INLINE word name##_next(struct self *self)                                                     \
    {                                                                                              \
        return lifo_next(self, looks, lock, unlock);                                               \
    }

LIFO(polled_backoff, false, tas_backoff_lock, tas_unlock)
LIFO(look, true, tas_lock, tas_unlock)
LIFO(look_backoff, true, tas_backoff_lock, tas_unlock)
LIFO(ticket, true, ticket_lock, ticket_unlock)
LIFO(mcs, true, mcs_lock, mcs_unlock)

/* Waits also after it has found the queue empty, so others get the lock. */
INLINE word backoff_next(struct self *self)
{
    word what = polled_backoff_next(self);
    if (what == 0) {
        idle_wait(self);
    } else {
        idle_end(self);
    }
    return what;
}

/* A runtime's own work under the lock, for each thread that enters or leaves the queue. */
INLINE void cost(void)
{
    uint32_t from = cycles();
    while (cycles() - from < options.cost) {
    }
}

INLINE void mts_put(struct self *self, word what)
{
    tas_lock(self);
    if (options.cost != 0) {
        cost();
    }
    lifo.entries[lifo.count++] = what;
    tas_unlock(self);
}

INLINE word mts_next(struct self *self)
{
    word what = 0;
    tas_lock(self);
    if (lifo.count != 0) {
        if (options.cost != 0) {
            cost();
        }
        what = lifo.entries[--lifo.count];
    }
    tas_unlock(self);
    return what;
}

/* ---- a deque for each worker ---- */

INLINE struct deque *victim(struct self *self)
{
    uint32_t other = random_next(self) % self->harts;
    return &deques[other == self->hart ? (other + 1) % self->harts : other];
}

INLINE void deque_put(struct self *self, word what)
{
    deque_push(&deques[self->hart], what);
}

INLINE word random_steal(struct self *self)
{
    word what = deque_pop(&deques[self->hart]);
    if (what == 0 && self->harts > 1) {
        what = deque_steal(victim(self));
        if (what == 0) {
            pause();
        }
    }
    return what;
}

INLINE word spawner_steal(struct self *self)
{
    word what = deque_pop(&deques[self->hart]);
    if (what == 0 && self->hart != 0) {
        what = deque_steal(&deques[0]);
    }
    if (what == 0 && self->harts > 1) {
        what = deque_steal(victim(self));
        if (what == 0) {
            pause();
        }
    }
    return what;
}

INLINE void half_put(struct self *self, word what)
{
    locked_push(&deques[self->hart], what);
}

INLINE word half_steal(struct self *self)
{
    struct deque *own = &deques[self->hart];
    word what = locked_pop(own);
    if (what == 0 && self->harts > 1) {
        what = locked_steal_half(victim(self), own);
        if (what == 0) {
            pause();
        }
    }
    return what;
}

/* A range: its upper halves become ranges in the deque, its first threads are created. */
INLINE word tree_next(struct self *self)
{
    word what = random_steal(self);
    if (what == 0 || what >= 1u << (2 * RANGE_END)) {
        return what;
    }
    uint32_t first = what >> RANGE_END, end = what & ((1u << RANGE_END) - 1);
    while (end - first > LEAF) {
        uint32_t middle = (first + end) / 2;
        deque_put(self, middle << RANGE_END | end);
        end = middle;
    }
    for (uint32_t i = first; i < end; i++) {
        deque_put(self, (word)make(i));
    }
    return random_steal(self);
}

/* ---- hardware queues ---- */

/* `spawn`, with the thread's address in x10; take_trap says that the LIFO is full. */
INLINE void take_put(struct self *self, word what)
{
    uint32_t full;
    (void)self;
    __asm__ volatile("li t6, 0\n\tmv a0, %1\n\t" HW_SPAWN("a0") "\n\tmv %0, t6"
                     : "=r"(full)
                     : "r"(what)
                     : "a0", "t6", "memory");
    if (full) {
        inlined++;
        execute((const struct descriptor *)what);
    }
}

/* Ends with 0 by an interrupt, which says that all threads have ended. */
INLINE word take_next(struct self *self)
{
    if (LOAD(&control.done)) {
        for (uint32_t i = 0; i < self->harts; i++) {
            ((volatile uint32_t *)0x02000000)[i] = 1;
        }
        return 0;
    }
    return hw_take();
}

static void take_start(void)
{
    __asm__ volatile("csrw mtvec, %0\n\tcsrw mie, %1" ::"r"(take_trap), "r"(8));
}

/* ---- all of them ---- */

INLINE void work(struct self *self, put_fn *put, next_fn *next, bool tree)
{
    if (self->hart == 0) {
        start = cycles();
        if (tree) {
            put(self, options.threads);
        } else {
            for (uint32_t i = 0; i < options.threads; i++) {
                put(self, (word)make(i));
            }
        }
    }
    for (;;) {
        word what = next(self);
        if (what != 0) {
            execute((const struct descriptor *)what);
        } else if (LOAD_ACQUIRE(&control.done)) {
            return;
        }
    }
}

/* All workers have begun before the parent does. */
static void meet(struct self *self)
{
    const volatile uint32_t *chip = (const volatile uint32_t *)0x14000000;
    self->harts = chip[1] * chip[2];
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    while (self->hart == 0 && LOAD(&arrived) != self->harts) {
    }
}

void soft_run(uint32_t me)
{
    struct self self;
    self.hart = me;
    self.random = (options.seed * HARTS_MAX + me + 1) * 2654435769u;
    idle_end(&self);
    if (options.kind == TAKE) {
        take_start();
    }
    meet(&self);
    switch ((enum kind)options.kind) {
    case MTS:
        work(&self, mts_put, mts_next, false);
        break;
    case LIFO_BACKOFF:
        work(&self, polled_backoff_put, backoff_next, false);
        break;
    case LIFO_LOOK:
        work(&self, look_put, look_next, false);
        break;
    case LIFO_LOOK_BACKOFF:
        work(&self, look_backoff_put, look_backoff_next, false);
        break;
    case LIFO_TICKET:
        work(&self, ticket_put, ticket_next, false);
        break;
    case LIFO_MCS:
        work(&self, mcs_put, mcs_next, false);
        break;
    case DEQUE_RANDOM:
        work(&self, deque_put, random_steal, false);
        break;
    case DEQUE_SPAWNER:
        work(&self, deque_put, spawner_steal, false);
        break;
    case DEQUE_HALF:
        work(&self, half_put, half_steal, false);
        break;
    case DEQUE_TREE:
        work(&self, deque_put, tree_next, true);
        break;
    case TAKE:
        work(&self, take_put, take_next, false);
        break;
    case HARD:
    case HARD_TREE:
    case KINDS:
        break;
    }
}
