/* SPDX-License-Identifier: MIT */
/*
 * classq_levels.c - back end of classq.h, for the ranks of discipline posix: a list for each
 * real-time level, and one for each step of virtual time in a window of CLASSQ_STEPS; bitmaps find
 * the first that is not empty. Everything takes constant time.
 *
 * A step is a slice at the default weight. Within a step threads are served in the order of
 * arrival. Virtual time is exact, so shares are exact in the long run; the next thread is right to
 * within a step.
 *
 * Invariants:
 *   1. place is 0 (in no list), 1 + rank for a real-time level, or OTHER_PLACE + step %
 *      CLASSQ_STEPS.
 *   2. The window is CLASSQ_STEPS steps from one before the queue's time (q->min), where sleepers'
 *      credit ends. That time never passes the first thread, so no thread is left behind the
 *      window.
 *   3. A thread beyond the window is in the window's last step. If it is the first one, no ranked
 *      thread is nearer. If the unranked list is empty, too, time passes up to there, and the
 *      thread moves on; otherwise the unranked list is nearer, and goes first.
 */
#include "classq.h"

#define OTHER_PLACE 128u
#define BEHIND 1u

ALWAYS_INLINE uint64_t step_of(const struct thread *t)
{
    return (t->sched.rank - RANK_OTHER) >> CLASSQ_SLICE_SHIFT;
}

static void bits_init(struct classq *q)
{
    q->bits.levels[0] = q->bits.levels[1] = q->bits.steps = 0;
    for (unsigned i = 0; i < RANK_LEVELS; i++) {
        list_init(&q->bits.level[i]);
    }
    for (unsigned i = 0; i < CLASSQ_STEPS; i++) {
        list_init(&q->bits.other[i]);
    }
}

ALWAYS_INLINE void put(struct list *list, struct thread *t, bool head)
{
    if (head) {
        list_push_front(list, &t->rq);
    } else {
        list_push_back(list, &t->rq);
    }
}

ALWAYS_INLINE uint64_t window_of(const struct classq *q)
{
    uint64_t step = q->min >> CLASSQ_SLICE_SHIFT;
    return step > BEHIND ? step - BEHIND : 0;
}

static void insert_other(struct classq *q, struct thread *t, bool head)
{
    uint64_t low = window_of(q);
    uint64_t step = step_of(t);
    step = step < low ? low : step;
    step = step < low + CLASSQ_STEPS ? step : low + CLASSQ_STEPS - 1;
    unsigned slot = (unsigned)(step % CLASSQ_STEPS);
    t->sched.place = (uint16_t)(OTHER_PLACE + slot);
    q->bits.steps |= 1ull << slot;
    put(&q->bits.other[slot], t, head);
}

static void bits_insert(struct classq *q, struct thread *t, bool head)
{
    uint64_t rank = t->sched.rank;
    if (likely(rank >= RANK_LEVELS)) {
        insert_other(q, t, head);
        return;
    }
    t->sched.place = (uint16_t)(1 + rank);
    q->bits.levels[rank / 64] |= 1ull << (rank % 64);
    put(&q->bits.level[rank], t, head);
}

static void bits_remove(struct classq *q, struct thread *t)
{
    unsigned place = t->sched.place;
    t->sched.place = 0;
    list_remove(&t->rq);
    if (place >= OTHER_PLACE) {
        unsigned slot = place - OTHER_PLACE;
        if (list_empty(&q->bits.other[slot])) {
            q->bits.steps &= ~(1ull << slot);
        }
        return;
    }
    unsigned level = place - 1;
    if (list_empty(&q->bits.level[level])) {
        q->bits.levels[level / 64] &= ~(1ull << (level % 64));
    }
}

ALWAYS_INLINE struct thread *head_of(struct list *list)
{
    return CONTAINER_OF(list->next, struct thread, rq);
}

static struct thread *first_other(struct classq *q)
{
    while (q->bits.steps != 0) {
        uint64_t low = window_of(q);
        unsigned from = (unsigned)(low % CLASSQ_STEPS);
        uint64_t turned = q->bits.steps >> from | q->bits.steps << ((64 - from) % 64);
        uint64_t step = low + (unsigned)__builtin_ctzll(turned);
        struct thread *t = head_of(&q->bits.other[step % CLASSQ_STEPS]);
        if (likely(step_of(t) <= step) || !list_empty(&q->unranked_list)) {
            return t;
        }
        q->min = step << CLASSQ_SLICE_SHIFT;
        bits_remove(q, t);
        insert_other(q, t, false);
    }
    return NULL;
}

static struct thread *bits_first(struct classq *q)
{
    if (unlikely(q->bits.levels[0] != 0)) {
        return head_of(&q->bits.level[__builtin_ctzll(q->bits.levels[0])]);
    }
    if (unlikely(q->bits.levels[1] != 0)) {
        return head_of(&q->bits.level[64 + __builtin_ctzll(q->bits.levels[1])]);
    }
    return first_other(q);
}

static void bits_for_each(struct classq *q, void (*fn)(struct thread *t))
{
    for (unsigned i = 0; i < RANK_LEVELS; i++) {
        classq_list_for_each(&q->bits.level[i], fn);
    }
    for (unsigned i = 0; i < CLASSQ_STEPS; i++) {
        classq_list_for_each(&q->bits.other[i], fn);
    }
}

const struct classq_backend classq_levels = {bits_init, bits_insert, bits_remove, bits_first,
                                             bits_for_each};
