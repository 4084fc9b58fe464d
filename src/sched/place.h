/* SPDX-License-Identifier: MIT */
/*
 * place.h - the choice of the CPU to which a pinned thread belongs, for the policies central and
 * dist.
 *
 * A task is named by its position in the tree of creations (n-th child of which task), which is the
 * same in every run of a deterministic program. A run on one CPU measures the run time of every
 * task and writes it to a file (measure=FILE); later runs on several CPUs read it (place=FILE) and
 * spread the tasks by longest processing time first. Tasks that the file does not know, and all
 * tasks without a file, go round the CPUs in turn.
 */
#ifndef PIRN_SCHED_PLACE_H
#define PIRN_SCHED_PLACE_H

#include "atomic.h"
#include "policy.h"
#include "thread.h"

/* The policy's 32 bytes in a pinned thread; rq comes first and is thread.rq. */
struct pinned {
    struct list rq;
    uint64_t task;     /* (C) */
    uint32_t children; /* (O) threads this one has created, and PINNED_BOUND */
    uint16_t home;     /* (O) CPU number; changes only in pinned_bind */
    uint8_t queued;    /* (home's queue) linked in it */
    uint8_t why;       /* enum pirn_why, on its way through an inbox */
};

_Static_assert(!RT_BINDS || sizeof(struct pinned) <= RT_POLICY_ROOM, "RT_POLICY_ROOM");

#define PINNED_BOUND 0x80000000u /* the program has chosen the home */

ALWAYS_INLINE struct pinned *pinned_of(struct thread *t)
{
    return (struct pinned *)t->policy;
}

/* The home of a thread that may be running, and leaving for another one. */
ALWAYS_INLINE unsigned pinned_home(struct thread *t)
{
    return __atomic_load_n(&pinned_of(t)->home, __ATOMIC_ACQUIRE); /* ORDER(home) */
}

/* t runs, and is the caller, or does not live yet: this is its home from now on; -1: it may stay
 * where it is. The fence: whoever changes its priority and still finds the old home has stored the
 * priority before t is sent to the new one. */
ALWAYS_INLINE void pinned_bind(struct thread *t, int cpu)
{
    struct pinned *p = pinned_of(t);
    uint32_t children = p->children & ~PINNED_BOUND;
    STORE_RLX(&p->children, cpu >= 0 ? children | PINNED_BOUND : children);
    if (cpu >= 0) {
        STORE_REL(&p->home, (uint16_t)cpu); /* ORDER(home) */
        at_fence_seq();                     /* ORDER(home) */
    }
}

/* A new thread of one that is bound is bound, too. */
ALWAYS_INLINE void pinned_inherit(struct pinned *p, const struct pinned *creator)
{
    if (unlikely(creator->children & PINNED_BOUND)) {
        p->children |= PINNED_BOUND;
        p->home = creator->home;
    }
}

/* The CPU that it is bound to; -1: none. */
ALWAYS_INLINE int pinned_bound(struct thread *t)
{
    bool bound = __atomic_load_n(&pinned_of(t)->children, __ATOMIC_RELAXED) & PINNED_BOUND;
    return bound ? (int)pinned_home(t) : -1;
}

#ifndef PIRN_WITHOUT_LOADS
#define PLACE_OPTIONS                                                                              \
    {.name = "place",                                                                              \
     .values = "<file>",                                                                           \
     .deflt = "",                                                                                  \
     .help = "place tasks by the loads in this file (written with measure=FILE)",                  \
     .set = place_set_file},                                                                       \
        {.name = "measure",                                                                        \
         .values = "<file>",                                                                       \
         .deflt = "",                                                                              \
         .help = "write the load of every task to this file at the end (with cpus=1)",             \
         .set = place_set_measure},                                                                \
    {                                                                                              \
        .name = "unit", .values = "task|tree", .deflt = "task",                                    \
        .help = "what is placed: each task, or each child of main with all its descendants",       \
        .set = place_set_unit                                                                      \
    }

int place_set_file(const char *value, const char **why);
int place_set_measure(const char *value, const char **why);
int place_set_unit(const char *value, const char **why);

/* Read the file, if there is one. A bad file ends the program with a message (status 2). */
int place_init(unsigned ncpu);
void place_fini(void);
void place_at_exit(void); /* write what was measured */

/* Policy operation thread_init: name the task, choose its home. */
int place_thread_init(struct thread *t, struct thread *creator);

/* While measuring: the CPU switches to t (NULL: idle). */
HIDDEN extern bool place_measuring;
void place_account(struct thread *t);

#else

/* In turn, whatever they do. */
#define PLACE_OPTIONS                                                                              \
    {                                                                                              \
        0                                                                                          \
    }
#define place_measuring false
#define place_at_exit NULL

int place_init(unsigned ncpu);
int place_thread_init(struct thread *t, struct thread *creator);
ALWAYS_INLINE void place_fini(void) {}
ALWAYS_INLINE void place_account(struct thread *t)
{
    (void)t;
}

#endif

#endif
