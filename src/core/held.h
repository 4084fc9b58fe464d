/* SPDX-License-Identifier: MIT */
/*
 * held.h - a lock that is handed over in a switch: the thread that stops has taken it, and
 * finish_switch releases it on the next thread's stack.
 *
 * Callers: the code that blocks (a wait queue's lock), ends a thread (its join lock), or rotates a
 * policy's queue (the lock of that queue) makes a struct held_lock of it. finish_switch,
 * finish_park and finish_exit release it.
 *
 * Invariants:
 *   1. A struct held_lock is made by one of the constructors below, one for each kind of lock
 *      (held_spinlock, held_statelock, held_biaslock_tried; held_of_policy for a spinlock of a
 *      program's policy). It points to the 32-bit word of the only spin lock that this CPU holds
 *      (lockrank.h).
 *   2. Each kind is released alike: the lowest bit of its word, HELD_BIT, is cleared with release
 *      order. A spinlock and the owner's word of a biaslock are 1 then, and become 0; a statelock
 *      keeps its state. So the release needs to know no kind, and the hot path of a switch no test.
 *   3. Only the holder stores to the word while it is locked (others may OR in a bit that is set),
 *      so the release need not be a locked instruction.
 *   4. In between, it travels as the argument of a post action (held_to_post, held_of_post), or, in
 *      struct pirn_rotation, as a lock of the policy's (held_to_policy, held_of_policy). No other
 *      code looks at those.
 * Locks: releases one, takes none.
 */
#ifndef PIRN_CORE_HELD_H
#define PIRN_CORE_HELD_H

#include <pirn/policy.h>

#include "atomic.h"
#include "check.h"
#include "lockrank.h"
#include "spinlock.h"

struct held_lock {
    _Atomic(uint32_t) *word; /* NULL: none */
};

#define HELD_BIT 1u
_Static_assert(STATE_LOCKED == HELD_BIT, "held_release unlocks a statelock");
_Static_assert(sizeof(spinlock_t) == sizeof(pirn_policy_lock_t), "a policy's lock is a spinlock");

ALWAYS_INLINE struct held_lock held_statelock(statelock_t *lock)
{
    return (struct held_lock){&lock->word};
}

ALWAYS_INLINE struct held_lock held_spinlock(spinlock_t *lock)
{
    return (struct held_lock){&lock->word};
}

/* Instead of bias_unlock_tried: after bias_trylock_owner, not after the owner's long way. */
ALWAYS_INLINE struct held_lock held_biaslock_tried(struct biaslock *lock)
{
    return (struct held_lock){&lock->owner_in};
}

/* Release the only lock that this CPU holds; its rank is not known here. */
ALWAYS_INLINE void held_release(struct held_lock held)
{
    lockrank_release_last();
    at_clear_alone_rel(held.word, HELD_BIT); /* ORDER(spinlock) ORDER(bias-section) */
}

/* As the argument of POST_UNLOCK and POST_PARK. */
ALWAYS_INLINE void *held_to_post(struct held_lock held)
{
    return (void *)held.word;
}

ALWAYS_INLINE struct held_lock held_of_post(void *arg)
{
    return (struct held_lock){(_Atomic(uint32_t) *)arg};
}

/* As the lock that `rotate` answers. A policy of a program answers one of its own there, which is a
 * spinlock (public.c). */
ALWAYS_INLINE pirn_policy_lock_t *held_to_policy(struct held_lock held)
{
    return (pirn_policy_lock_t *)held.word;
}

ALWAYS_INLINE struct held_lock held_of_policy(pirn_policy_lock_t *lock)
{
    return (struct held_lock){(_Atomic(uint32_t) *)lock};
}

#endif
