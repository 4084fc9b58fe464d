/* SPDX-License-Identifier: MIT */
/*
 * spinlock.c - the slow ways of spinlock.h, where the argument stands.
 */
#include "spinlock.h"

#include "mutant.h"

#define CHILD_LOOKS 64u /* rounds between two looks, which are system calls */

/* BIAS_BACK: long ways of the owner that cost as much as a heavy fence. Where that is an
 * instruction, guests do not keep the short way from the owner. */
#ifdef PIRN_SIM /* sim_timed.c has the values */
#define BIAS_BACK sim_bias.back
#define BIAS_KEPT sim_bias.kept
#else
#define BIAS_BACK 500u
#define BIAS_KEPT port_fence_asymmetric
#endif

void spin_lock_slow(spinlock_t *lock)
{
    unsigned round = 0;
    do {
        while (at_load_rlx(&lock->word) != 0) {
            port_relax(round++);
        }
    } while (at_xchg_acq(&lock->word, 1u) != 0); /* ORDER(spinlock) */
}

void state_wait(statelock_t *lock, unsigned round)
{
    if (unlikely(rt_is_child) && round % CHILD_LOOKS == CHILD_LOOKS - 1) {
        rt_fork_give_back(lock);
    }
    port_relax(round);
}

void state_lock_slow(statelock_t *lock)
{
    unsigned round = 0;
    do {
        while (at_load_rlx(&lock->word) & STATE_LOCKED) {
            state_wait(lock, round++);
        }
    } while (at_or_acq(&lock->word, STATE_LOCKED) & STATE_LOCKED); /* ORDER(spinlock) */
}

void bias_lock_owner(struct biaslock *lock)
{
    if (!bias_trylock_owner(lock)) {
        spin_lock(&lock->entry, RANK_RUNQ);
    }
}

void bias_unlock_owner(struct biaslock *lock)
{
    if (at_load_rlx(&lock->owner_in) != 0) {
        bias_unlock_tried(lock);
        return;
    }
    if (++lock->alone >= BIAS_BACK) {
        lock->alone = 0;
        at_store_rel(&lock->guest_in, 0u); /* ORDER(bias-section) */
    }
    spin_unlock(&lock->entry, RANK_RUNQ);
}

/* Takes the short way from the owner. */
static void bias_take(struct biaslock *lock)
{
    unsigned round = 0;
    at_store_rlx(&lock->guest_in, 1u);
    if (!MUTANT(NO_BIAS_FENCE)) {
        at_fence_heavy(); /* ORDER(bias-entry) */
    }
    while (at_load_acq(&lock->owner_in)) { /* ORDER(bias-section) */
        port_relax(round++);
    }
}

static void bias_enter_guest(struct biaslock *lock)
{
    for (;;) {
        if (!at_is_set_acq(&lock->guest_in)) { /* ORDER(bias-section) */
            bias_take(lock);
        }
        if (unlikely(at_xchg_acq(&lock->entry.word, 1u) != 0)) { /* ORDER(spinlock) */
            spin_lock_slow(&lock->entry);
        }
        if (likely(at_load_rlx(&lock->guest_in) != 0) || MUTANT(BIAS_BACK_UNSEEN)) {
            lock->alone = 0;
            return;
        }
        at_store_rel(&lock->entry.word, 0u); /* ORDER(spinlock) */
    }
}

bool bias_trylock_guest(struct biaslock *lock)
{
    if (!spin_trylock(&lock->guests, RANK_RUNQ)) {
        return false;
    }
    bias_enter_guest(lock);
    return true;
}

void bias_lock_guest(struct biaslock *lock)
{
    spin_lock(&lock->guests, RANK_RUNQ);
    bias_enter_guest(lock);
}

void bias_unlock_guest(struct biaslock *lock)
{
    at_store_rel(&lock->entry.word, 0u); /* ORDER(spinlock) */
    if (!BIAS_KEPT) {
        at_store_rel(&lock->guest_in, 0u); /* ORDER(bias-section) */
    }
    spin_unlock(&lock->guests, RANK_RUNQ);
}
