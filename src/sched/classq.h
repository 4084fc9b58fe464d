/* SPDX-License-Identifier: MIT */
/*
 * classq.h - ready queue with scheduling classes: the disciplines "posix" and "shmac".
 *
 * A classq decides who is next; where it is and who may touch it is the policy's business,
 * whose lock the caller holds (_locked), or whose only CPU it is. What it knows of a thread is in
 * t->sched (thread.h), beside the priority that inheritance and ceilings change (t->priority).
 *
 * posix. FIFO and RR threads are ordered by effective priority, 1 to 99, and within a level as they
 * came; RR has a slice. OTHER threads are below, ordered by virtual time: a slice costs
 * 1 / weight. A thread of class OTHER that inherits a priority is at that level while it does.
 *
 * shmac (the thesis that row B3 of docs/STATUS.md names): FIFO before RR before OTHER. FIFO by
 * priority, then time of creation; RR by the number of times that a thread was chosen, whatever its
 * priority; OTHER by that number divided by the weight. The thesis has no inheritance: here, who
 * inherits a priority is FIFO with it while it does.
 *
 * Rank. Both come down to one number for each thread in a queue, smaller first, and a place among
 * equals: at their head or tail (posix), by creation (FIFO of shmac). Two back ends keep threads in
 * this order: classq_heap.c, a pairing heap, for any ranks, and classq_levels.c, lists with a
 * bitmap on top, for those of posix: real-time levels, and virtual time in steps of a slice.
 *
 * Lane. Most threads never differ: class OTHER, the default weight, nothing inherited, and no tick
 * since they were chosen. Those are *plain*; they stand in the order of their coming in a list
 * beside the back end, all of them at one time, unranked_time, and are *even*: whatever queue such
 * a thread enters, its time is that of the unranked list there. While nobody is in the back end,
 * time stands still, and a queue is a FIFO list with a few loads more. Else the unranked list takes
 * part with unranked_time as one thread would, and what one of n threads in it pays moves it by an
 * n-th. A thread that met a tick leaves the unranked list, and is let in again when it has run
 * without one and is not more than a slice ahead. While it is empty the unranked list sleeps, as a
 * thread does: those who come back from a wait find it with the credit of a long sleep.
 *
 * Invariants of the unranked list:
 *   1. Who is in it (place == CLASSQ_UNRANKED) is even; so is who was taken from it, until it is
 *      charged or ranked.
 *   2. While the back end has threads and the unranked list, too: unranked_time is at most the
 *      credit behind min. It is set when the first thread enters either.
 *
 * Virtual time belongs to a queue. A thread keeps its own (vtime) and how far that was ahead of the
 * queue's (lag) when it was chosen. Back in the same queue it goes on from vtime; in another one it
 * gets that one's time and its lag. A thread that comes back with less than the queue's time, minus
 * one slice, gets that: whoever slept long has one slice of credit. What it has used since it was
 * chosen (charge) is added when it comes back.
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
};

extern const struct classq_backend classq_levels, classq_heap;

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

void classq_init(struct classq *q, enum discipline discipline,
                 const struct classq_backend *backend);

/* How much a thread has to run: 0 nobody, 1 OTHER, above it real time. Higher ones preempt. */
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

/* Nobody there or in the unranked list only. */
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

/* t is in this queue and its class or priority may have changed: to its place, at the tail of its
 * level, or, if it was lowered, at the head (POSIX, pthread_setschedprio). */
void classq_requeue(struct classq *q, struct thread *t);

/* Whatever may have changed: everyone to its place. */
void classq_reorder(struct classq *q);

/* `running` yields (PIRN_WHY_YIELD) or may go on (PIRN_WHY_PREEMPT): who runs in its place; taken
 * out. NULL: it goes on; with a new slice, if that had ended. */
struct thread *classq_preempt(struct classq *q, struct thread *running, enum pirn_why why);

/* `running` has used so many ticks: true if its slice has ended. */
bool classq_charge(const struct classq *q, struct thread *running, unsigned ticks);

/* A new thread, and who made it (NULL: unknown). `copy`: it starts with its creator's virtual time
 * or count; else with 0, which shows what that is good for. */
void classq_new_thread(struct classq *q, struct thread *t, const struct thread *creator, bool copy);

/* The short way, of posix: made by an even thread, it is even, too. */
ALWAYS_INLINE void classq_new_no_vtime(struct thread *t)
{
    t->sched.no_vtime = true;
    t->sched.charge = 0;
    t->sched.ticks_left = (uint16_t)rt.slice_ticks;
}

ALWAYS_INLINE bool classq_queued(const struct thread *t)
{
    return t->sched.place != 0;
}

/* For checks: call fn for each thread. */
void classq_for_each(struct classq *q, void (*fn)(struct thread *t));

#endif
