/* SPDX-License-Identifier: MIT */
/*
 * prio.h - effective priorities, and priority inheritance.
 *
 * A thread has a base priority (its own), a ceiling (the highest of the ceiling mutexes that it
 * holds) and boosts: of each contended object that it owns, the priority of the first waiter. Its
 * effective priority, t->priority, is the highest of these. Larger is more urgent; threads start
 * with 0.
 *
 * An object that inherits (a mutex of src/sync/omutex.c) has a wait queue and a word `leader`. Its
 * waiters each have a struct prio_wait on their stacks. That of the leader stands for the object in
 * its owner's list of boosters. So an object needs one word, a thread one pointer, and passing the
 * object on with all its waiters is one step. The wait queue is the sorted list of waiters.
 *
 * Invariants (prio lock):
 *   1. t->prio_wait is set from before t is queued for an object until it has got it, or has given
 *      up and said so here. While it is set, the object exists: t has not returned from its call.
 *   2. *leader is 0 exactly if the object has no group; else the index of a thread whose prio_wait
 *      is set and is for this object. That one's `owner` is the owner of the object (NULL if the
 *      owner has ended), and it is in owner->boosters.
 *   3. An owner gives its objects up before it ends: threads in boosters' chains exist.
 *   4. When the lock is free, every t->priority is the maximum that is defined above.
 *
 * Locks: the prio lock (RANK_PRIO), one for all; under it the queue lock of one object at a time
 * (RANK_WAITQ), and the locks of policy.requeue. Chains are walked under the one lock, so two walks
 * cannot wait for each other, whatever the order in which threads have locked their objects.
 * docs/internals/design.md has the argument.
 */
#ifndef PIRN_CORE_PRIO_H
#define PIRN_CORE_PRIO_H

#include "cpu.h"

struct prio_wait {
    struct waitq *queue; /* (C) of the object */
    uint32_t *leader;    /* (C) of the object */
    /* of the leader only, (prio lock) */
    struct thread *owner;
    struct prio_wait *next; /* in owner->boosters */
};

void prio_lock(void);
void prio_unlock(void);

/* The effective priority. It may change at any time. */
ALWAYS_INLINE unsigned rt_thread_priority(const struct thread *t)
{
    return at_load_rlx(&t->priority);
}

/* The thread's own priority; its effective one, and those that depend on it, follow. */
void rt_thread_set_base(struct thread *t, unsigned priority);

ALWAYS_INLINE unsigned rt_thread_base(const struct thread *t)
{
    return at_load_rlx(&t->base_priority);
}

/* The highest ceiling that t is entitled to. The second form: prio lock held. */
void prio_set_ceiling(struct thread *t, unsigned ceiling);
void prio_set_ceiling_locked(struct thread *t, unsigned ceiling);

/* The caller is about to queue for an object that `owner` owns (NULL: its owner has ended). After
 * that it takes the queue's lock, and only then releases the prio lock, so nobody sees it in
 * between. */
void prio_wait_begin_locked(struct prio_wait *w, struct thread *self, struct thread *owner);

/* t's wait is over, it was unlinked, and has not got the object. */
void prio_wait_end_locked(struct thread *t);

/* The object passes from `from` to `to`: to a waiter that was unlinked from the queue, whose wait
 * is over now, or to nobody (NULL; then the queue is empty). */
void prio_pass_locked(uint32_t *leader, struct thread *from, struct thread *to);

/* `from` ends, and nobody gets the object: its waiters boost nobody. */
void prio_orphan_locked(uint32_t *leader, struct thread *from);

void prio_reset(void); /* between runs of the simulator; the child of a fork */

/* In the child of a fork, `self` is the only thread: nobody boosts it. */
void prio_forked(struct thread *self);

#endif
