/* SPDX-License-Identifier: MIT */
/*
 * block.h - waitq_block_locked for the common case, inline: a user thread, no deadline. For objects
 * whose threads block often; where `how` is a constant, so is most of this.
 */
#ifndef PIRN_CORE_BLOCK_H
#define PIRN_CORE_BLOCK_H

#include "../trace/trace.h"
#include "cancel.h"
#include "handed.h"
#include "mutant.h"
#include "runtime.h"
#include "switch.h"
#include "wake.h"

/* Insert before the first waiter of lower wait_priority, or, with front, of an equal one. */
void waitq_insert_locked(struct waitq *q, struct thread *t, bool front);

ALWAYS_INLINE void waitq_link_locked(struct waitq *q, struct thread *t, bool front)
{
    struct list *node = &t->wait_link;
    t->wait_priority = (uint16_t)at_load_rlx(&t->priority);
    if (likely(q->first == NULL)) {
        node->next = node->prev = node;
        q->first = node;
    } else {
        waitq_insert_locked(q, t, front);
    }
}

ALWAYS_INLINE struct thread *waitq_pick_next(struct cpu *cpu, struct thread *prefer)
{
    if (prefer != NULL && rt_may_bypass_pick(cpu) && policy_remove(cpu, prefer)) {
        return prefer;
    }
    struct thread *next = rt_pick(cpu);
    return next != NULL ? next : cpu->idle;
}

/* The claim of a wait that others can end as well. */
ALWAYS_INLINE bool waitq_claim(struct thread *t, uint32_t from, uint32_t to)
{
    return at_cas_acq_rel(&t->park, &from, to); /* ORDER(park) */
}

/* The waker's, under the queue's lock: true if t still waited, and is the caller's now. */
ALWAYS_INLINE bool waitq_claim_locked(struct thread *t)
{
    return !WAITQ_MAY_END || likely(!t->claimable) ||
           waitq_claim(t, PARK_PARKED | (t->claimable & PARK_FLAGS), PARK_WOKEN);
}

/* waitq_pop_locked for a queue with one waiter, or none, at most times. */
ALWAYS_INLINE struct thread *waitq_pop_inline_locked(struct waitq *q)
{
    struct list *node = q->first;
    if (node == NULL) {
        return NULL;
    }
    if (!RT_SPEED || unlikely(node->next != node)) {
        return waitq_pop_locked(q);
    }
    struct thread *t = CONTAINER_OF(node, struct thread, wait_link);
    q->first = NULL;
    node->next = NULL;
    return likely(waitq_claim_locked(t)) ? t : NULL;
}

/* Describe the wait in the descriptor, and enter the queue. */
ALWAYS_INLINE void waitq_enter_locked(struct cpu *cpu, struct waitq *q, struct thread *self,
                                      struct waitq_options options, uint8_t claimable)
{
    self->wait_reason = options.reason;
    self->wait_kind = options.kind;
    self->claimable = claimable;
    self->wait_object = options.object;
    self->wait_queue = q;
    thread_set_state(self, THREAD_BLOCKED);
    trace_block(cpu, self);
    waitq_link_locked(q, self, options.front);
}

ALWAYS_INLINE void waitq_entered(struct thread *self)
{
    self->wait_reason = WAIT_NONE;
    self->wait_queue = NULL;
}

ALWAYS_INLINE void waitq_block_user_locked(struct cpu *cpu, struct waitq *q,
                                           struct waitq_options options)
{
    struct thread *self = cpu->current;
    waitq_enter_locked(cpu, q, self, options, 0);
    switch_from(cpu, self, waitq_pick_next(cpu, options.prefer), POST_UNLOCK,
                held_to_post(held_statelock(&q->lock)));
    waitq_entered(self);
}

ALWAYS_INLINE bool waitq_may_end(const struct waitq_options *options)
{
    return (RT_TIMED && options->deadline != UINT64_MAX) || (RT_CANCEL && options->removable) ||
           (PORT_SIGNALS && options->interruptible);
}

/* The flags of such a wait beside PARKING and PARKED. */
ALWAYS_INLINE uint32_t waitq_flags(struct thread *self, const struct waitq_options *options)
{
    return (options->removable && cancel_is_enabled(self) ? PARK_REMOVABLE : 0) |
           (options->interruptible ? PARK_INTERRUPTIBLE : 0);
}

/* A request or signal that came before we were PARKING (PARKED, without a CPU) has not ended this
 * wait: cancel.h. True: it ends now. */
ALWAYS_INLINE bool waitq_end_self(struct thread *self, uint32_t park)
{
    at_fence_light();                           /* ORDER(cancel) */
    uint32_t word = at_load_rlx(&self->cancel); /* ORDER(cancel) */
    if ((park & PARK_REMOVABLE) && cancel_is_due(word) && !MUTANT(CANCEL_UNSEEN)) {
        return waitq_claim(self, park, PARK_REMOVED);
    }
    return (park & PARK_INTERRUPTIBLE) && unlikely(word & CANCEL_SIGNALLED) &&
           !MUTANT(SIGNAL_UNSEEN) && waitq_claim(self, park, PARK_INTERRUPTED);
}

/* The party that has ended the caller's wait was not a waker: unlink, and what to return. */
COLD int waitq_leave(struct waitq *q, struct thread *self, enum lockrank rank);

/* No deadline, but a request or a signal may end it. */
ALWAYS_INLINE int waitq_block_point_locked(struct cpu *cpu, struct waitq *q,
                                           struct waitq_options options)
{
    struct thread *self = cpu->current;
    uint32_t flags = waitq_flags(self, &options);
    waitq_enter_locked(cpu, q, self, options, (uint8_t)(1u | flags));
    at_store_rlx(&self->park, PARK_PARKING | flags);
    waitq_end_self(self, PARK_PARKING | flags);
    switch_from(cpu, self, waitq_pick_next(cpu, options.prefer), POST_PARK,
                held_to_post(held_statelock(&q->lock)));
    bool woken = at_load_acq(&self->park) == PARK_WOKEN; /* ORDER(park) */
    int error = likely(woken) ? 0 : waitq_leave(q, self, options.rank);
    waitq_entered(self);
    return error;
}

/* As waitq_block_locked. */
ALWAYS_INLINE int waitq_block_inline_locked(struct cpu *cpu, struct waitq *q,
                                            struct waitq_options options)
{
    if (RT_SPEED && likely(!PORT_FOREIGN || cpu != NULL)) {
        if (!waitq_may_end(&options)) {
            waitq_block_user_locked(cpu, q, options);
            return 0;
        }
        if (WAITQ_MAY_END && options.deadline == UINT64_MAX) {
            return waitq_block_point_locked(cpu, q, options);
        }
    }
    struct waitq_options in_memory =
        options; /* only here: in the common case it is in registers or constant */
    return waitq_block_locked(q, &in_memory);
}

#endif
