/* SPDX-License-Identifier: MIT */
/*
 * classq_turns.c - classq.h for builds without weights: real-time threads by priority, as in
 * discipline posix; threads of class OTHER take turns, each a slice long. The policies call it by
 * way of runq.h, with the queue's lock held, or as its only user.
 *
 * Invariants:
 *   1. A ready thread with a priority is in `levels`, the most urgent first, equals in the order of
 *      arrival; `ranked` counts them. Any other one is in the unranked list.
 *   2. s->level of a thread in `levels` is the priority by which it was put there. t->priority may
 *      have changed since; requeue follows, under the queue's lock.
 *   3. no_vtime says that a thread has met no tick since its slice began: only such a thread may
 *      take the short ways of classq.h, which begin no slice.
 *
 * Putting a thread into `levels` takes as many steps as there are threads in it that are more or
 * equally urgent.
 */
#include "classq.h"

#include "runtime.h"

#define LINKED 1u /* `place` in `levels` */

void classq_init(struct classq *q, enum discipline discipline, const struct classq_backend *backend)
{
    (void)discipline;
    (void)backend;
    q->ranked = q->unranked = 0;
    list_init(&q->unranked_list);
    list_init(&q->levels);
}

ALWAYS_INLINE unsigned level_of(const struct thread *t)
{
    unsigned priority = at_load_rlx(&t->priority);
    return priority < RANK_LEVELS ? priority : RANK_LEVELS - 1;
}

uint32_t classq_urgency(const struct classq *q, const struct thread *t)
{
    unsigned level = level_of(t);
    (void)q;
    return level != 0 ? URGENCY_REAL_TIME + level : URGENCY_OTHER;
}

static bool slice_ended(const struct thread *t)
{
    return t->sched.ticks_left == 0;
}

static void slice_begin(struct thread *t)
{
    t->sched.ticks_left = (uint16_t)rt.slice_ticks;
    t->sched.no_vtime = true;
}

static struct thread *thread_at(struct list *node)
{
    return CONTAINER_OF(node, struct thread, rq);
}

/* head: in front of its equals. */
static void insert(struct classq *q, struct thread *t, bool head)
{
    unsigned level = level_of(t), ahead = head ? level + 1 : level;
    struct list *at = q->levels.next;
    t->sched.level = (uint8_t)level;
    if (level == 0) {
        classq_unranked_push(q, t, head);
        return;
    }
    while (at != &q->levels && thread_at(at)->sched.level >= ahead) {
        at = at->next;
    }
    t->sched.place = LINKED;
    q->ranked++;
    list_push_back(at, &t->rq); /* in front of `at` */
}

void classq_remove(struct classq *q, struct thread *t)
{
    if (t->sched.place == CLASSQ_UNRANKED) {
        classq_unranked_remove(q, t);
        return;
    }
    RT_ASSERT(t->sched.place == LINKED && q->ranked != 0);
    list_remove(&t->rq);
    t->sched.place = 0;
    q->ranked--;
}

void classq_push(struct classq *q, struct thread *t, enum pirn_why why)
{
    bool preempted = why == PIRN_WHY_PREEMPT && !slice_ended(t);
    if (!preempted) {
        slice_begin(t);
    }
    insert(q, t, preempted || (why == PIRN_WHY_HANDOFF && level_of(t) == 0));
}

struct thread *classq_peek(struct classq *q)
{
    struct list *list = q->ranked != 0 ? &q->levels : &q->unranked_list;
    return list_empty(list) ? NULL : thread_at(list->next);
}

struct thread *classq_take(struct classq *q)
{
    struct thread *t = classq_peek(q);
    if (t != NULL) {
        classq_remove(q, t);
    }
    return t;
}

struct thread *classq_pop(struct classq *q)
{
    return classq_take(q);
}

void classq_run(struct classq *q, struct thread *t)
{
    (void)q;
    slice_begin(t);
}

void classq_requeue(struct classq *q, struct thread *t)
{
    unsigned level = level_of(t), before = t->sched.place == LINKED ? t->sched.level : 0;
    bool tail = at_load_rlx(&t->sched.attr) & SCHED_TO_TAIL;
    if (level != before || tail) {
        classq_remove(q, t);
        insert(q, t, level != 0 && level < before && !tail);
    }
}

void classq_reorder(struct classq *q)
{
    struct list all;
    list_init(&all);
    for (struct thread *t; (t = classq_take(q)) != NULL;) {
        list_push_back(&all, &t->rq);
    }
    for (struct list *node; (node = list_pop_front(&all)) != NULL;) {
        insert(q, thread_at(node), false);
    }
}

struct thread *classq_preempt(struct classq *q, struct thread *running, enum pirn_why why)
{
    struct thread *first = classq_peek(q);
    uint32_t there = first != NULL ? classq_urgency(q, first) : (uint32_t)URGENCY_IDLE;
    uint32_t here = classq_urgency(q, running);
    bool ended = slice_ended(running);
    bool shares = here == URGENCY_OTHER || sched_class_of(running) == SCHED_CLASS_RR;
    bool turn = why == PIRN_WHY_YIELD || (why == PIRN_WHY_PREEMPT && ended && shares);
    if (there > here || (there == here && turn)) {
        return classq_take(q);
    }
    classq_keep(q, running);
    return NULL;
}

void classq_keep(struct classq *q, struct thread *running)
{
    (void)q;
    if (slice_ended(running)) {
        slice_begin(running);
    }
}

bool classq_charge(const struct classq *q, struct thread *running, unsigned ticks)
{
    struct thread_sched *s = &running->sched;
    (void)q;
    if (sched_class_of(running) == SCHED_CLASS_FIFO) {
        return false; /* it has no slices, and keeps its place when it is preempted */
    }
    s->no_vtime = false;
    s->ticks_left = (uint16_t)(ticks < s->ticks_left ? s->ticks_left - ticks : 0);
    return slice_ended(running);
}

void classq_new_thread(struct classq *q, struct thread *t, const struct thread *creator, bool copy)
{
    (void)q;
    (void)creator;
    (void)copy;
    t->sched.place = 0;
    t->sched.level = 0;
    slice_begin(t);
}

void classq_for_each(struct classq *q, void (*fn)(struct thread *t))
{
    classq_list_for_each(&q->unranked_list, fn);
    classq_list_for_each(&q->levels, fn);
}
