/* SPDX-License-Identifier: MIT */
/*
 * timer.h - deadlines of waiting threads.
 *
 * Each CPU keeps a pairing heap of the timers that were armed on it: no memory is allocated, arming
 * is O(1), removal O(log n) amortised. Expiry runs under the heap's lock, so timer_disarm returning
 * means that the expiry function does not run and will not run.
 *
 * While a CPU runs a thread, the port knows the earliest deadline (port_timer_set), or an earlier
 * one. An idle CPU sees to its deadlines itself (run.c): telling the port of each would wake up
 * others for nothing.
 */
#ifndef PIRN_CORE_TIMER_H
#define PIRN_CORE_TIMER_H

#include "spinlock.h"

struct cpu;

#ifdef PIRN_WITHOUT_TIMED

struct timer {
};
struct timer_heap {
};

ALWAYS_INLINE bool timer_arm(struct cpu *cpu, struct timer *timer, uint64_t deadline)
{
    (void)cpu;
    (void)timer;
    (void)deadline;
    return false;
}
ALWAYS_INLINE uint64_t timer_next(struct cpu *cpu)
{
    (void)cpu;
    return UINT64_MAX;
}
ALWAYS_INLINE void timer_disarm(struct timer *timer)
{
    (void)timer;
}
ALWAYS_INLINE uint64_t timer_expire(struct cpu *cpu, uint64_t now)
{
    (void)cpu;
    (void)now;
    return UINT64_MAX;
}
ALWAYS_INLINE void timer_heap_init(struct timer_heap *heap)
{
    (void)heap;
}
ALWAYS_INLINE bool timer_any(const struct timer_heap *heap)
{
    (void)heap;
    return false;
}

#else

struct timer {
    uint64_t deadline;
    struct timer *child, *sibling,
        *prev;               /* (heap lock) prev: parent if first child, else left sibling */
    struct timer_heap *heap; /* (O) where it was armed last */
    bool armed;              /* (heap lock) */
};

struct timer_heap {
    spinlock_t lock;
    struct timer *root;      /* (lock) earliest */
    _Atomic(uint32_t) armed; /* (A) number of timers, read without the lock */
};

/* Put a timer with a deadline into a heap, take it out. The caller guards the heap: here its lock,
 * in sync/timers.c, whose timers are not threads', a lock of that file's. */
void timer_heap_insert(struct timer_heap *heap, struct timer *timer);
void timer_heap_remove(struct timer_heap *heap, struct timer *timer);

/* True: it is the earliest, of which the port does not know yet. */
bool timer_arm(struct cpu *cpu, struct timer *timer, uint64_t deadline);

/* The earliest deadline; UINT64_MAX: none. */
uint64_t timer_next(struct cpu *cpu);

/* After return the timer is not armed and its expiry is over. The caller is the one who armed it.
 */
void timer_disarm(struct timer *timer);

/* Expire due timers, PORT_EXPIRE_MOST at most. Returns the next deadline (UINT64_MAX: none), which
 * may be over. Calls waitq_timeout. */
uint64_t timer_expire(struct cpu *cpu, uint64_t now);

ALWAYS_INLINE void timer_heap_init(struct timer_heap *heap)
{
    at_init(&heap->armed, 0u);
    at_init(&heap->lock.word, 0u);
}

/* Is any armed? A hint, but exact for the owner's own timers. */
ALWAYS_INLINE bool timer_any(const struct timer_heap *heap)
{
    return at_load_rlx(&heap->armed) != 0;
}

#endif

#endif
