/* SPDX-License-Identifier: MIT */
/*
 * spinlock.h - the lock of short critical sections, and its asymmetric sibling for run queues.
 *
 * spinlock: test-and-test-and-set. Held with interrupts kept out (rt_enter); a zeroed one is free.
 *
 * statelock: a spinlock in the lowest bit of a word whose other 31 bits are the state of the object
 * that it guards. The holder changes the state by plain stores, and the release stores state and
 * lock at once; so an operation that needs the lock costs one locked instruction, not two. Others
 * may change the state only by a compare-and-swap from a value without STATE_LOCKED; so the
 * holder's stores lose nothing. A competitor's OR of a bit that is set changes nothing. With state
 * 0 it is a spinlock.
 *
 * biaslock: for data that one CPU (the owner) uses all the time and others (guests) rarely: the run
 * queue of a CPU, and the thieves. The owner's short way in and out is plain stores and a light
 * fence. A guest takes the short way from the owner by a heavy fence, which costs both of them
 * microseconds. From then on both take the spinlock `entry` (the owner's long way), until the owner
 * has done so BIAS_BACK times since the last guest, which costs it about as much as a heavy fence.
 * So guests that come one after the other pay for one fence. (Where the heavy fence is an
 * instruction, a guest gives the short way back when it leaves.) Invariants:
 *   1. owner_in is written by the owner only. guest_in is set by the holder of `guests`, and
 *      cleared by the owner, which holds `entry`, or by the holder of `guests` after its section.
 *      The owner takes the short way only where it finds guest_in clear.
 *   2. Owner, short: owner_in = 1, light fence, guest_in? Guest that finds guest_in clear:
 *      guest_in = 1, heavy fence, owner_in? By the fence pair one of them sees the other: the owner
 *      steps back, the guest waits for that. So then the owner is not inside by the short way, and
 *      does not come again while guest_in is set.
 *   3. A guest is inside while it holds `entry` and has found guest_in set since it took it: then 2
 *      holds, by its own fence or by that of a guest before, and the owner cannot clear it.
 *   4. The owner by the long way holds `entry`; owner_in is 0 then, so the owner knows by which way
 *      it came.
 *   5. The stores of a section are published by the release store that leaves it and the acquire
 *      that enters the next one: of owner_in by a guest, of guest_in by the owner, of `guests`
 *      among guests, of `entry`. An owner that clears guest_in itself has been inside by `entry`
 *      since the last guest. The fences order only the entry protocol.
 * No deadlock: nobody waits for owner_in or `entry` inside a section of its own.
 *
 * With one CPU (RT_ALONE) taking and releasing a spinlock is nothing: who holds one has interrupts
 * disabled, and the lock crosses a switch (held.h) to a thread that releases it before they are
 * enabled. A statelock's bit is then set only by its holder's own stores, and gone when it leaves.
 */
#ifndef PIRN_CORE_SPINLOCK_H
#define PIRN_CORE_SPINLOCK_H

#include "atomic.h"
#include "check.h"
#include "config.h"
#include "lockrank.h"
#include "port.h"

typedef struct spinlock {
    _Atomic(uint32_t) word;
} spinlock_t;

COLD void spin_lock_slow(spinlock_t *lock);

#if RT_ALONE
ALWAYS_INLINE bool spin_trylock(spinlock_t *lock, enum lockrank rank)
{
    (void)lock;
    (void)rank;
    return true;
}

ALWAYS_INLINE void spin_lock(spinlock_t *lock, enum lockrank rank)
{
    (void)lock;
    (void)rank;
}

ALWAYS_INLINE void spin_unlock(spinlock_t *lock, enum lockrank rank)
{
    (void)lock;
    (void)rank;
}
#else
ALWAYS_INLINE bool spin_trylock(spinlock_t *lock, enum lockrank rank)
{
    if (at_load_rlx(&lock->word) != 0 || at_xchg_acq(&lock->word, 1u) != 0) { /* ORDER(spinlock) */
        return false;
    }
    lockrank_acquire(rank);
    return true;
}

ALWAYS_INLINE void spin_lock(spinlock_t *lock, enum lockrank rank)
{
    if (unlikely(at_xchg_acq(&lock->word, 1u) != 0)) { /* ORDER(spinlock) */
        spin_lock_slow(lock);
    }
    lockrank_acquire(rank);
}

ALWAYS_INLINE void spin_unlock(spinlock_t *lock, enum lockrank rank)
{
    RT_ASSERT(at_load_rlx(&lock->word) == 1);
    lockrank_release(rank);
    at_store_rel(&lock->word, 0u); /* ORDER(spinlock) */
}
#endif

/* For assertions. */
ALWAYS_INLINE bool spin_is_held(const spinlock_t *lock, enum lockrank rank)
{
    return at_peek(&lock->word) != 0 && lockrank_is_held(rank);
}

#define STATE_LOCKED 1u

typedef struct statelock {
    _Atomic(uint32_t) word; /* STATE_LOCKED, state */
} statelock_t;

COLD void state_lock_slow(statelock_t *lock);

/* One round of a loop that waits for STATE_LOCKED to go. The lock is the first member of a struct
 * waitq. */
COLD void state_wait(statelock_t *lock, unsigned round);

/* Supplied by fork.c: this process is the child of a fork. The holder may be a thread that does not
 * exist here; then the lock is released. */
extern bool rt_is_child;
void rt_fork_give_back(statelock_t *lock);

#if RT_ALONE
ALWAYS_INLINE void state_lock(statelock_t *lock, enum lockrank rank)
{
    (void)lock;
    (void)rank;
}
#else
ALWAYS_INLINE void state_lock(statelock_t *lock, enum lockrank rank)
{
    if (unlikely(at_or_acq(&lock->word, STATE_LOCKED) & STATE_LOCKED)) { /* ORDER(spinlock) */
        state_lock_slow(lock);
    }
    lockrank_acquire(rank);
}
#endif

/* For assertions: does the caller's CPU hold it, as far as that is known? */
ALWAYS_INLINE bool state_is_held(const statelock_t *lock, enum lockrank rank)
{
    return (at_peek(&lock->word) & STATE_LOCKED) != 0 && lockrank_is_held(rank);
}

/* The state without the lock bit. */
ALWAYS_INLINE uint32_t lock_state(const statelock_t *lock)
{
    return at_load_rlx(&lock->word) & ~STATE_LOCKED;
}

ALWAYS_INLINE void state_set_locked(statelock_t *lock, uint32_t state)
{
    at_store_rlx(&lock->word, state | STATE_LOCKED);
}

ALWAYS_INLINE void state_unlock_to(statelock_t *lock, enum lockrank rank, uint32_t state)
{
    RT_ASSERT(at_load_rlx(&lock->word) & STATE_LOCKED);
    lockrank_release(rank);
    at_store_rel(&lock->word, state); /* ORDER(spinlock) */
}

ALWAYS_INLINE void state_unlock(statelock_t *lock, enum lockrank rank)
{
    state_unlock_to(lock, rank, lock_state(lock));
}

struct biaslock {
    _Atomic(uint32_t) owner_in; /* (O) */
    _Atomic(uint32_t) guest_in; /* invariant 1 */
    spinlock_t guests;
    spinlock_t entry;
    uint32_t alone; /* (entry) the owner's long ways since the last guest */
};

ALWAYS_INLINE void bias_init(struct biaslock *lock)
{
    at_init(&lock->owner_in, 0u);
    at_init(&lock->guest_in, 0u);
    at_init(&lock->guests.word, 0u);
    at_init(&lock->entry.word, 0u);
    lock->alone = 0;
}

/* The short way; false if guests have taken it away. */
ALWAYS_INLINE bool bias_trylock_owner(struct biaslock *lock)
{
    at_store_rlx(&lock->owner_in, 1u);
    at_fence_light();                               /* ORDER(bias-entry) */
    if (unlikely(at_is_set_acq(&lock->guest_in))) { /* ORDER(bias-section) */
        at_store_rel(&lock->owner_in, 0u);          /* ORDER(bias-section) */
        return false;
    }
    lockrank_acquire(RANK_RUNQ);
    return true;
}

/* After bias_trylock_owner. Or held_biaslock_tried (held.h). */
ALWAYS_INLINE void bias_unlock_tried(struct biaslock *lock)
{
    lockrank_release(RANK_RUNQ);
    at_store_rel(&lock->owner_in, 0u); /* ORDER(bias-section) */
}

/* Either way. */
void bias_lock_owner(struct biaslock *lock);
void bias_unlock_owner(struct biaslock *lock);

/* False if another guest is inside: thieves do not queue. */
bool bias_trylock_guest(struct biaslock *lock);
void bias_lock_guest(struct biaslock *lock);
void bias_unlock_guest(struct biaslock *lock);

#endif
