/* SPDX-License-Identifier: MIT */
/*
 * runq.h - the ready queue of a policy in any discipline: a list (runq_fifo.h) or, with classes, a
 * classq. The caller holds the queue's lock. The number of threads is the list's `length` in both.
 */
#ifndef PIRN_SCHED_RUNQ_H
#define PIRN_SCHED_RUNQ_H

#include "classes.h"
#include "runq_fifo.h"

ALWAYS_INLINE uint32_t ready_urgency(const struct runq *q, const struct thread *t)
{
    return unlikely(RUNQ_CLASSES(q) != NULL) ? classq_urgency(RUNQ_CLASSES(q), t)
                                             : (uint32_t)URGENCY_OTHER;
}

ALWAYS_INLINE void ready_init(struct runq *q, unsigned i)
{
    runq_init(q, sched_chosen.discipline == DISCIPLINE_LIFO);
    RUNQ_SET_CLASSES(q, classes_queue(i));
}

ALWAYS_INLINE void ready_push_locked(struct runq *q, struct thread *t, enum pirn_why why)
{
    if (unlikely(RUNQ_CLASSES(q) != NULL)) {
        classq_push(RUNQ_CLASSES(q), t, why);
        runq_add_length_locked(q, 1);
    } else {
        runq_push_locked(q, t, runq_to_head(q, why));
    }
}

/* The next one, for CPU self to run. */
ALWAYS_INLINE struct thread *ready_pop_locked(struct cpu *self, struct runq *q)
{
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        return runq_pop_locked(q);
    }
    struct thread *t = classq_pop(RUNQ_CLASSES(q));
    if (t != NULL) {
        runq_add_length_locked(q, -1);
    }
    return classes_take(self, RUNQ_CLASSES(q), t);
}

/*
 * The short ways, for queues in which all threads are alike: lists, or unranked lists. `classes`
 * says which: for a policy that is compiled for either kind (steal.c) it is a constant, and the
 * other kind's code is gone.
 */

/* Does t not differ from the usual ones? */
ALWAYS_INLINE bool ready_alike(bool classes, const struct thread *t)
{
    return !classes || classq_plain(t);
}

/* And does nobody in the queue? */
ALWAYS_INLINE bool ready_alike_locked(bool classes, const struct runq *q, const struct thread *t)
{
    return !classes || (classq_all_plain(RUNQ_CLASSES(q)) && classq_plain(t));
}

/* Is t, which is in q, the first of the threads that are alike? */
ALWAYS_INLINE bool ready_first_alike_locked(bool classes, const struct runq *q,
                                            const struct thread *t)
{
    return (classes ? &RUNQ_CLASSES(q)->unranked_list : &q->threads)->next == &t->rq;
}

/* False: t or a thread in the queue differs, and nothing was done. */
ALWAYS_INLINE bool ready_push_alike_locked(bool classes, struct runq *q, struct thread *t,
                                           enum pirn_why why)
{
    if (!classes) {
        runq_push_locked(q, t, runq_to_head(q, why));
        return true;
    }
    if (unlikely(!ready_alike_locked(true, q, t))) {
        return false;
    }
    classq_unranked_push(RUNQ_CLASSES(q), t, runq_to_head(q, why));
    runq_add_length_locked(q, 1);
    return true;
}

/* The next thread. `runs`: with classes, what the CPU that will run it says that it runs, class
 * OTHER. NULL: the queue is empty, or a thread in it differs. */
ALWAYS_INLINE struct thread *ready_pop_alike_locked(struct sched_runs *runs, struct runq *q)
{
    if (runs == NULL) {
        return runq_pop_locked(q);
    }
    if (unlikely(!classq_all_plain(RUNQ_CLASSES(q)))) {
        return NULL;
    }
    struct thread *t = classq_unranked_pop(RUNQ_CLASSES(q));
    if (unlikely(t == NULL)) {
        return NULL;
    }
    runq_add_length_locked(q, -1);
    classes_take_other(runs, t);
    return t;
}

/* Take t, which is in q, out. ready_alike_locked is true. */
ALWAYS_INLINE void ready_remove_alike_locked(bool classes, struct runq *q, struct thread *t)
{
    if (!classes) {
        runq_remove_locked(q, t);
        return;
    }
    classq_unranked_remove(RUNQ_CLASSES(q), t);
    runq_add_length_locked(q, -1);
}

/* A yield: t goes to the tail, the next thread is taken out; t's context need not be saved. NULL:
 * nothing done. */
ALWAYS_INLINE struct thread *ready_rotate_alike_locked(bool classes, struct cpu *self,
                                                       struct runq *q, struct thread *t)
{
    if (!classes) {
        return runq_rotate_locked(q, t);
    }
    if (unlikely(!ready_alike_locked(true, q, t))) {
        return NULL;
    }
    struct thread *next = classq_unranked_rotate(RUNQ_CLASSES(q), t);
    return likely(next != NULL) ? classes_take_plain(self, next) : NULL;
}

/* The same, of either kind. */
ALWAYS_INLINE struct thread *ready_rotate_locked(struct cpu *self, struct runq *q, struct thread *t)
{
    return ready_rotate_alike_locked(unlikely(RUNQ_CLASSES(q) != NULL), self, q, t);
}

/* The first one, without taking it out. */
ALWAYS_INLINE struct thread *ready_peek_locked(const struct runq *q)
{
    if (unlikely(RUNQ_CLASSES(q) != NULL)) {
        return classq_peek(RUNQ_CLASSES(q));
    }
    struct list *first = q->threads.next;
    return first != &q->threads ? CONTAINER_OF(first, struct thread, rq) : NULL;
}

/* The first one, to be pushed elsewhere. */
ALWAYS_INLINE struct thread *ready_take_locked(struct runq *q)
{
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        return runq_pop_locked(q);
    }
    struct thread *t = classq_take(RUNQ_CLASSES(q));
    if (t != NULL) {
        runq_add_length_locked(q, -1);
    }
    return t;
}

/* Do threads not differ? */
ALWAYS_INLINE bool ready_all_alike_locked(const struct runq *q)
{
    return RUNQ_CLASSES(q) == NULL || classq_all_plain(RUNQ_CLASSES(q));
}

/* A thread for another CPU: from the head or the tail; the most urgent one if threads differ. */
ALWAYS_INLINE struct thread *ready_give_locked(struct runq *q, bool head)
{
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        return runq_give_locked(q, head);
    }
    if (!classq_all_plain(RUNQ_CLASSES(q))) {
        return ready_take_locked(q);
    }
    struct thread *t = classq_unranked_give(RUNQ_CLASSES(q), head);
    if (t != NULL) {
        runq_add_length_locked(q, -1);
    }
    return t;
}

/* See pirn_policy.preempt. */
ALWAYS_INLINE struct thread *ready_preempt_locked(struct cpu *self, struct runq *q,
                                                  struct thread *running, enum pirn_why why)
{
    struct thread *next = classq_preempt(RUNQ_CLASSES(q), running, why);
    if (next != NULL) {
        runq_add_length_locked(q, -1);
    }
    classes_take(self, RUNQ_CLASSES(q), next != NULL ? next : running);
    return next;
}

/* May t bypass the queue? Not if a more urgent thread waits there, or, for a real-time thread, an
 * equally urgent one: their order is promised. */
ALWAYS_INLINE bool ready_may_run_locked(struct runq *q, const struct thread *t)
{
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        return true;
    }
    struct thread *first = classq_peek(RUNQ_CLASSES(q));
    if (first == NULL || first == t) {
        return true;
    }
    uint32_t own = classq_urgency(RUNQ_CLASSES(q), t);
    uint32_t there = classq_urgency(RUNQ_CLASSES(q), first);
    return there < own || (there == own && own == URGENCY_OTHER);
}

/* The same for a thread that its order among equals was not promised: task affinity. */
ALWAYS_INLINE bool ready_may_lead_locked(struct runq *q, const struct thread *t)
{
    struct thread *first = RUNQ_CLASSES(q) != NULL ? classq_peek(RUNQ_CLASSES(q)) : NULL;
    return first == NULL || ready_urgency(q, first) <= ready_urgency(q, t);
}

/* t goes past the queue. */
ALWAYS_INLINE void ready_run_locked(struct cpu *self, struct runq *q, struct thread *t)
{
    if (unlikely(RUNQ_CLASSES(q) != NULL)) {
        classq_run(RUNQ_CLASSES(q), t);
        classes_take(self, RUNQ_CLASSES(q), t);
    }
}

/* t, which is in q, should run next: take it out, unless a more urgent thread is there. */
ALWAYS_INLINE bool ready_remove_locked(struct cpu *self, struct runq *q, struct thread *t)
{
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        runq_remove_locked(q, t);
        return true;
    }
    if (self == NULL || !ready_may_run_locked(q, t)) {
        return false;
    }
    classq_remove(RUNQ_CLASSES(q), t);
    runq_add_length_locked(q, -1);
    ready_run_locked(self, q, t);
    return true;
}

/* Verify that the length is right and all threads in the queue are ready. */
void ready_check_locked(struct runq *q);

#endif
