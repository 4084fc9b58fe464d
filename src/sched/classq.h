/* SPDX-License-Identifier: MIT */
/*
 * classq.h - ready queue with scheduling classes: the disciplines "posix" and "shmac".
 *
 * A classq decides who is next; where it is and who may touch it is the organization's business,
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
 * Virtual time belongs to a queue. A thread keeps its own (vtime) and how far that was ahead of the
 * queue's (lag) when it was chosen. Back in the same queue it goes on from vtime; in another one it
 * gets that one's time and its lag. A thread that comes back with less than the queue's time, minus
 * one slice, gets that: whoever slept long has one slice of credit. What it has used since it was
 * chosen (charge) is added when it comes back.
 */
#ifndef PIRN_SCHED_CLASSQ_H
#define PIRN_SCHED_CLASSQ_H

#include "policy.h"
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
    uint32_t length;
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
void classq_new_thread(const struct classq *q, struct thread *t, const struct thread *creator,
                       bool copy);

ALWAYS_INLINE bool classq_queued(const struct thread *t)
{
    return t->sched.place != 0;
}

/* For checks: call fn for each thread. */
void classq_for_each(struct classq *q, void (*fn)(struct thread *t));

#endif
