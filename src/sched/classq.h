/* SPDX-License-Identifier: MIT */
/*
 * classq.h - ready queue with scheduling classes: the disciplines "posix" and "shmac".
 *
 * A classq decides which thread is next. The policy decides where it is and who may touch it: the
 * caller holds the policy's lock (_locked), or is the only CPU that uses the queue. Its state of a
 * thread is t->sched (thread.h); inheritance and ceilings change t->priority.
 *
 * posix. FIFO and RR threads are ordered by effective priority, 1 to 99, and within a level by
 * arrival; RR has a slice. OTHER threads are below, ordered by virtual time: a slice costs
 * 1 / weight. A thread of class OTHER that inherits a priority is at that level meanwhile.
 *
 * shmac (after the SHMAC thesis, docs/STATUS.md): FIFO before RR before OTHER. FIFO by
 * priority, then time of creation; RR by the number of times that a thread was chosen, whatever its
 * priority; OTHER by that number divided by the weight. The thesis has no inheritance: here, a
 * thread that inherits a priority is FIFO with that priority meanwhile.
 *
 * Rank. Both orders are one number for each thread in a queue, smaller first, and a position among
 * equals: at their head or tail (posix), by creation (FIFO of shmac). Two back ends keep threads in
 * this order: classq_heap.c, a pairing heap, for any ranks, and classq_levels.c, lists with a
 * bitmap on top, for those of posix: real-time levels, and virtual time in steps of a slice.
 *
 * Unranked list. Most threads never differ: class OTHER, the default weight, nothing inherited, and
 * no tick since they were chosen. These are *plain*. They are in a list beside the back end, in the
 * order of arrival, and share one virtual time, unranked_time. They have no time of their own
 * (no_vtime): a thread that enters another queue takes the time of the unranked list there. While
 * the back end is empty, time stands still, and a queue is a FIFO list with a few more loads.
 * Otherwise the unranked list competes with unranked_time like one thread, and the cost of one of
 * its n threads moves the list's time by an n-th of that. A thread that met a tick leaves the
 * unranked list. It returns when it has run without a tick and is at most one slice ahead. An empty
 * unranked list sleeps like a thread: threads that return from a wait find it with the credit of a
 * long sleep.
 *
 * Invariants of the unranked list:
 *   1. A thread in it (place == CLASSQ_UNRANKED) has no_vtime set. A thread that was taken from it
 *      keeps no_vtime until it is charged or ranked.
 *   2. While both the back end and the unranked list have threads, unranked_time is at most the
 *      credit behind min. It is set when the first thread enters either.
 *
 * Virtual time belongs to a queue. A thread keeps its own (vtime), and how far it was ahead of the
 * queue's (lag) when it was chosen. Back in the same queue it goes on from vtime; another queue
 * gives it its own time plus the lag. A thread that returns with less than the queue's time minus
 * one slice gets that: after a long sleep it has one slice of credit. The time that it has used
 * since it was chosen (charge) is added when it returns.
 */
#ifndef PIRN_SCHED_CLASSQ_H
#define PIRN_SCHED_CLASSQ_H

#include "policy.h"
#include "runtime.h"
#include "thread.h"

enum discipline { DISCIPLINE_FIFO, DISCIPLINE_LIFO, DISCIPLINE_POSIX, DISCIPLINE_SHMAC };

/* A slice at the default weight, in virtual time. */
#define CLASSQ_SLICE_SHIFT 20
#define CLASSQ_SLICE (1ull << CLASSQ_SLICE_SHIFT)

/* Ranks: real-time levels (0 = the most urgent), RR of shmac, OTHER. */
#define RANK_LEVELS 100u
#define RANK_RR (1ull << 61)
#define RANK_OTHER (1ull << 62)

#define CLASSQ_STEPS 64u

#define CLASSQ_UNRANKED 255u /* `place` in the unranked list; back ends use less */

struct classq;

/* A back end. All but init: by the rank and seq of t->sched; classq.c calls. */
struct classq_backend {
    void (*init)(struct classq *q);
    void (*insert)(struct classq *q, struct thread *t, bool head); /* before, behind its equals */
    void (*remove)(struct classq *q, struct thread *t);
    struct thread *(*first)(struct classq *q);
    void (*for_each)(struct classq *q, void (*fn)(struct thread *t));
};

extern const struct classq_backend classq_levels, classq_heap;

#ifdef PIRN_WITHOUT_WEIGHTS
/* classq_turns.c: the names below mean there what they mean here, as far as they are there. */
struct classq {
    uint32_t ranked;           /* threads in `levels` */
    uint32_t unranked;         /* threads in the unranked list */
    struct list unranked_list; /* class OTHER, nothing inherited */
    struct list levels;        /* the others, the most urgent first */
};
#else
struct classq {
    const struct classq_backend *backend;
    enum discipline discipline;
    uint32_t ranked;           /* threads in the back end */
    uint32_t unranked;         /* threads in the unranked list */
    struct list unranked_list; /* see above */
    uint64_t unranked_time;
    uint64_t min; /* virtual time of the queue: never falls */
    union {
        struct {
            struct thread *root;
            int64_t head, tail; /* next seq at either end */
        } heap;
        struct {
            uint64_t levels[2]; /* bit: the list is not empty */
            uint64_t steps;     /* the same, of `other` */
            struct list level[RANK_LEVELS];
            struct list other[CLASSQ_STEPS];
        } bits;
    };
};
#endif

void classq_init(struct classq *q, enum discipline discipline,
                 const struct classq_backend *backend);

/* The urgency of a thread: 0 no thread, 1 OTHER, above that real time. Higher values preempt. */
enum { URGENCY_IDLE, URGENCY_OTHER, URGENCY_REAL_TIME };
uint32_t classq_urgency(const struct classq *q, const struct thread *t);

ALWAYS_INLINE uint32_t classq_length(const struct classq *q)
{
    return q->ranked + q->unranked;
}

/* Class OTHER, default weight, nothing inherited. */
ALWAYS_INLINE bool classq_usual(const struct thread *t)
{
    return (at_load_rlx(&t->priority) | at_load_rlx(&t->sched.attr)) == 0;
}

ALWAYS_INLINE bool classq_plain(const struct thread *t)
{
    return t->sched.no_vtime && classq_usual(t);
}

/* All threads, if any, are in the unranked list. */
ALWAYS_INLINE bool classq_all_plain(const struct classq *q)
{
    return q->ranked == 0;
}

/* The short ways: for a queue where all are plain. */

ALWAYS_INLINE void classq_unranked_push(struct classq *q, struct thread *t, bool head)
{
    t->sched.place = CLASSQ_UNRANKED;
    q->unranked++;
    if (head) {
        list_push_front(&q->unranked_list, &t->rq);
    } else {
        list_push_back(&q->unranked_list, &t->rq);
    }
}

ALWAYS_INLINE struct thread *classq_unranked_taken(struct classq *q, struct list *node)
{
    if (unlikely(node == NULL)) {
        return NULL;
    }
    struct thread *t = CONTAINER_OF(node, struct thread, rq);
    t->sched.place = 0;
    q->unranked--;
    return t;
}

ALWAYS_INLINE struct thread *classq_unranked_pop(struct classq *q)
{
    return classq_unranked_taken(q, list_pop_front(&q->unranked_list));
}

/* As runq_give_locked. */
ALWAYS_INLINE struct thread *classq_unranked_give(struct classq *q, bool head)
{
    return classq_unranked_taken(q, head ? list_pop_second(&q->unranked_list)
                                         : list_pop_back(&q->unranked_list));
}

/* Plain t to the tail, and the first one out. NULL: nothing done. */
ALWAYS_INLINE struct thread *classq_unranked_rotate(struct classq *q, struct thread *t)
{
    struct list *first = list_rotate(&q->unranked_list, &t->rq);
    if (unlikely(first == NULL)) {
        return NULL;
    }
    struct thread *next = CONTAINER_OF(first, struct thread, rq);
    next->sched.place = 0;
    t->sched.place = CLASSQ_UNRANKED;
    return next;
}

/* t is in the unranked list. */
ALWAYS_INLINE void classq_unranked_remove(struct classq *q, struct thread *t)
{
    list_remove(&t->rq);
    classq_unranked_taken(q, &t->rq);
}

void classq_push(struct classq *q, struct thread *t, enum pirn_why why);
struct thread *classq_pop(struct classq *q);         /* the next one; it runs from now on */
struct thread *classq_peek(struct classq *q);        /* without taking it out */
struct thread *classq_take(struct classq *q);        /* the next one, to be pushed elsewhere */
void classq_run(struct classq *q, struct thread *t); /* it runs, past the queue */

/* t is in this queue. */
void classq_remove(struct classq *q, struct thread *t);

/* t is in this queue and its class or priority may have changed: move it to the tail of its level,
 * or, if it was lowered, to the head (POSIX, pthread_setschedprio). */
void classq_requeue(struct classq *q, struct thread *t);

/* Put all threads in order again, after any change. */
void classq_reorder(struct classq *q);

/* `running` yields (PIRN_WHY_YIELD) or may go on (PIRN_WHY_PREEMPT). Returns the thread that runs
 * instead, taken out; NULL: `running` goes on, with a new slice if that has ended. */
struct thread *classq_preempt(struct classq *q, struct thread *running, enum pirn_why why);

/* `running` goes on, because the first thread in the queue may not run: a new slice, if its own has
 * ended. */
void classq_keep(struct classq *q, struct thread *running);

/* `running` has used so many ticks: true if its slice has ended. */
bool classq_charge(const struct classq *q, struct thread *running, unsigned ticks);

/* A new thread, and its creator (NULL: unknown). `copy`: it starts with its creator's virtual time
 * or count; else with 0, which shows the effect of copying. */
void classq_new_thread(struct classq *q, struct thread *t, const struct thread *creator, bool copy);

#ifdef PIRN_WITHOUT_WEIGHTS
ALWAYS_INLINE void classq_charge_clear(struct thread *t)
{
    (void)t;
}
#else
ALWAYS_INLINE void classq_charge_clear(struct thread *t)
{
    t->sched.charge = 0;
}
#endif

/* The short way, of posix: the creator has no time of its own, so the new thread has none. */
ALWAYS_INLINE void classq_new_no_vtime(struct thread *t)
{
    t->sched.no_vtime = true;
    classq_charge_clear(t);
    t->sched.ticks_left = (uint16_t)rt.slice_ticks;
}

ALWAYS_INLINE bool classq_queued(const struct thread *t)
{
    return t->sched.place != 0;
}

/* For checks: call fn for each thread. */
void classq_for_each(struct classq *q, void (*fn)(struct thread *t));

static inline void classq_list_for_each(struct list *head, void (*fn)(struct thread *t))
{
    for (struct list *node = head->next; node != head; node = node->next) {
        fn(CONTAINER_OF(node, struct thread, rq));
    }
}

#endif
