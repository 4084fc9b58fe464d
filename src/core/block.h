/* SPDX-License-Identifier: MIT */
/*
 * block.h - waitq_block_locked for the common case, inline: a user thread, no deadline. For objects
 * whose threads block often; where `how` is a constant, so is most of this.
 */
#ifndef PIRN_CORE_BLOCK_H
#define PIRN_CORE_BLOCK_H

#include "../trace/trace.h"
#include "handed.h"
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

/* waitq_pop_locked for a queue with one waiter, or none, at most times. */
ALWAYS_INLINE struct thread *waitq_pop_inline_locked(struct waitq *q)
{
    struct list *node = q->first;
    if (node == NULL) {
        return NULL;
    }
    struct thread *t = CONTAINER_OF(node, struct thread, wait_link);
    if (!RT_SPEED || unlikely(node->next != node || t->claimable)) {
        return waitq_pop_locked(q);
    }
    q->first = NULL;
    node->next = NULL;
    return t;
}

/* Describe the wait in the descriptor, and enter the queue. */
ALWAYS_INLINE void waitq_enter_locked(struct cpu *cpu, struct waitq *q, struct thread *self,
                                      struct waitq_options options, bool claimable)
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
    waitq_enter_locked(cpu, q, self, options, false);
    switch_from(cpu, self, waitq_pick_next(cpu, options.prefer), POST_UNLOCK,
                held_to_post(held_statelock(&q->lock)));
    waitq_entered(self);
}

/* Can anything but a waker end it? */
#define WAITQ_MAY_END (RT_TIMED || RT_CANCEL || PORT_SIGNALS)

ALWAYS_INLINE bool waitq_may_end(const struct waitq_options *options)
{
    return (RT_TIMED && options->deadline != UINT64_MAX) || (RT_CANCEL && options->removable) ||
           (PORT_SIGNALS && options->interruptible);
}

/* As waitq_block_locked. */
ALWAYS_INLINE int waitq_block_inline_locked(struct cpu *cpu, struct waitq *q,
                                            struct waitq_options options)
{
    if (RT_SPEED && likely((!PORT_FOREIGN || cpu != NULL) && !waitq_may_end(&options))) {
        waitq_block_user_locked(cpu, q, options);
        return 0;
    }
    struct waitq_options in_memory =
        options; /* only here: in the common case it is in registers or constant */
    return waitq_block_locked(q, &in_memory);
}

#endif
