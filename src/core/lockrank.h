/* SPDX-License-Identifier: MIT */
/*
 * lockrank.h - the order in which spin locks nest; checked in debug builds and in the simulator.
 *
 * A CPU may take a lock only if its rank is above every rank that it holds. Waiting with a spin
 * lock held is allowed in one place: a thread that blocks leaves its wait queue locked until
 * finish_switch, and only run-queue locks are taken meanwhile.
 */
#ifndef PIRN_CORE_LOCKRANK_H
#define PIRN_CORE_LOCKRANK_H

#include "compiler.h"

enum lockrank {
    RANK_SIGNAL,    /* the POSIX layer's signals */
    RANK_COND,      /* a condition variable's queue; the mutex is released under it */
    RANK_ROBUST,    /* the lists of robust mutexes between processes that are held */
    RANK_PRIO,      /* priority inheritance, one lock for all: prio.h */
    RANK_IO,        /* waits for a descriptor: io.h */
    RANK_IO_COPY,   /* those that go to a copy of it */
    RANK_WAITQ,     /* every other wait queue */
    RANK_JOIN,      /* a thread's join queue */
    RANK_TIMER,     /* a CPU's timers; expiry makes threads ready */
    RANK_PRODUCERS, /* which threads produce for which */
    RANK_DEMAND,    /* what threads demand */
    RANK_RUNQ,      /* ready queues */
    RANK_STACK,     /* global stack pool */
    RANK_ID,        /* thread id table */
    RANK_SPARE,     /* spare carriers */
    RANK_COUNT
};

/* For assertions: does the caller's CPU hold a lock of this rank, does it hold any? For a caller
 * without a CPU, which is not checked, the answer is the one that is expected. */
bool lockrank_is_held(enum lockrank rank);
bool lockrank_none_held(void);

#ifdef PIRN_DEBUG
void lockrank_acquire(enum lockrank rank);
void lockrank_release(enum lockrank rank);
void lockrank_release_last(void); /* the only one held */
#elif defined(PIRN_SECTIONS)      /* port/env/bare/section.h counts instead */
void section_lock(void);
void section_unlock(void);
#define lockrank_acquire(rank) ((void)(rank), section_lock())
#define lockrank_release(rank) ((void)(rank), section_unlock())
#define lockrank_release_last() section_unlock()
#else
ALWAYS_INLINE void lockrank_acquire(enum lockrank rank)
{
    (void)rank;
}
ALWAYS_INLINE void lockrank_release(enum lockrank rank)
{
    (void)rank;
}
ALWAYS_INLINE void lockrank_release_last(void) {}
#endif

#endif
