/* SPDX-License-Identifier: MIT */
/*
 * runq_fifo.h - ready queue as an intrusive list: FIFO or LIFO. The caller holds the queue's lock.
 *
 * length is written under the lock and read by anyone as an estimate.
 *
 * Disciplines differ in where a thread enters; all take from the head:
 *   FIFO  spawned, woken and yielding threads go to the tail
 *   LIFO  spawned and woken threads go to the head, yielding ones to the tail (a yield never
 * re-picks itself); every RT_LIFO_OLDEST-th pick takes the oldest thread, so that nobody starves
 * A hand-over goes to the head in both.
 */
#ifndef PIRN_SCHED_RUNQ_FIFO_H
#define PIRN_SCHED_RUNQ_FIFO_H

#include "policy.h"
#include "thread.h"

struct classq;

struct runq {
    struct list threads;
    _Atomic(uint32_t) length;
    uint32_t picks; /* LIFO */
    bool lifo;
#ifndef PIRN_WITHOUT_CLASSES
    struct classq *classes; /* (C) holds the threads instead of the list: runq.h */
#endif
};

#ifdef PIRN_WITHOUT_CLASSES
#define RUNQ_CLASSES(q) ((void)(q), (struct classq *)NULL)
#define RUNQ_SET_CLASSES(q, c) ((void)(q), (void)(c))
#else
#define RUNQ_CLASSES(q) ((q)->classes)
#define RUNQ_SET_CLASSES(q, c) ((void)((q)->classes = (c)))
#endif

ALWAYS_INLINE void runq_init(struct runq *q, bool lifo)
{
    list_init(&q->threads);
    at_init(&q->length, 0u);
    q->picks = 0;
    q->lifo = lifo;
    RUNQ_SET_CLASSES(q, NULL);
}

ALWAYS_INLINE void runq_add_length_locked(struct runq *q, int n)
{
    at_add_alone_rlx(&q->length, n);
}

ALWAYS_INLINE bool runq_to_head(const struct runq *q, enum pirn_why why)
{
    return why == PIRN_WHY_HANDOFF || why == PIRN_WHY_PREEMPT ||
           (q->lifo && (why == PIRN_WHY_SPAWN || why == PIRN_WHY_WAKE));
}

ALWAYS_INLINE void runq_push_locked(struct runq *q, struct thread *t, bool head)
{
    if (head) {
        list_push_front(&q->threads, &t->rq);
    } else {
        list_push_back(&q->threads, &t->rq);
    }
    runq_add_length_locked(q, 1);
}

ALWAYS_INLINE struct thread *runq_pop_locked(struct runq *q)
{
    bool oldest = unlikely(q->lifo) && ++q->picks % RT_LIFO_OLDEST == 0;
    struct list *node = oldest ? list_pop_back(&q->threads) : list_pop_front(&q->threads);
    if (node == NULL) {
        return NULL;
    }
    runq_add_length_locked(q, -1);
    return CONTAINER_OF(node, struct thread, rq);
}

/* Pop the head and push t at the tail; NULL and nothing done if the queue is empty. */
ALWAYS_INLINE struct thread *runq_rotate_locked(struct runq *q, struct thread *t)
{
    struct list *node = list_rotate(&q->threads, &t->rq);
    return likely(node != NULL) ? CONTAINER_OF(node, struct thread, rq) : NULL;
}

/* A thread for another CPU, from either end. The first one may have been handed to this CPU. */
ALWAYS_INLINE struct thread *runq_give_locked(struct runq *q, bool head)
{
    struct list *node = head ? list_pop_second(&q->threads) : list_pop_back(&q->threads);
    if (node == NULL) {
        return NULL;
    }
    runq_add_length_locked(q, -1);
    return CONTAINER_OF(node, struct thread, rq);
}

ALWAYS_INLINE void runq_remove_locked(struct runq *q, struct thread *t)
{
    list_remove(&t->rq);
    runq_add_length_locked(q, -1);
}

/* Anyone, without the lock. */
ALWAYS_INLINE uint32_t runq_estimate(const struct runq *q)
{
    return at_load_rlx(&q->length);
}

#endif
