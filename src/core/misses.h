/* SPDX-License-Identifier: MIT */
/*
 * misses.h - what the running threads miss of the shared cache, and the working sets of their jobs.
 *
 * Callers: a policy that schedules by it: misses_start in its init, then misses_charge or
 * misses_take in each operation in which its CPU stops a thread, before it takes the next one;
 * demand.c at the end of a job. For all others measuring.on is false, and nothing is counted.
 *
 * Working set of a job: the lines that it misses, in bytes (J. M. Calandrino and J. H. Anderson,
 * "On the design and implementation of a cache-aware multicore real-time scheduler", 2009: misses
 * by the size of a line). A job that misses more than the cache holds has thrashed: it has missed
 * the same lines more than once, so its misses do not tell its size, and it is dropped. But
 * THRASH_MOST of them in a row say that the thread does not fit beside what runs with it: then it
 * counts as the whole cache. It runs alone under gate from then on, and is measured anew.
 *
 * Smoothed. The first job counts as it is. A larger one raises the result by half of the
 * difference, a smaller one lowers it by an eighth: a job that finds its data in the cache, left by
 * the job before, misses less than it uses.
 *
 * Invariants:
 *   1. port_misses_take is called by the CPU itself, inside the runtime: what a CPU has counted
 *      since its last call is its running thread's.
 *   2. A record's `missed` is written by the CPU that runs its thread; by rt_demand_set of another
 *      thread only when the period changes. It is a measure: an addition that the two lose costs
 *      one sample, and nothing depends on it.
 *   3. measured.bytes is 0 (nothing measured) or lies between a line and the cache
 *      (which is all that counts of a line that is larger).
 */
#ifndef PIRN_CORE_MISSES_H
#define PIRN_CORE_MISSES_H

#include "atomic.h"
#include "port_misses.h"

#define MISSES_THRASH_MOST 8u

struct cpu;
struct thread;

/* Working set of a thread's jobs. */
struct measured {
    uint64_t bytes;    /* 0: none was measured */
    uint32_t thrashed; /* jobs in a row that were dropped */
};

HIDDEN extern struct measuring {
    bool on;        /* (C) a policy measures working sets */
    uint64_t cache; /* (C) bytes */
    uint32_t line;  /* (C) bytes */
} measuring;

/* Measure from now on, for a cache of so many bytes. NULL; or why it is impossible here. While the
 * runtime starts. */
const char *misses_start(uint64_t cache);

/* No policy measures. For runs of the simulator. */
void misses_stop(void);

/* NULL: this machine counts misses. Else why it does not. While the runtime starts. */
ALWAYS_INLINE const char *misses_refusal(void)
{
    return port_misses_refusal();
}

/* What self's thread has missed since the last call there. */
ALWAYS_INLINE struct port_misses misses_take(struct cpu *self)
{
    return port_misses_take(self);
}

/* self's thread stops, or may stop: what it has missed counts for its job. */
void misses_charge(struct cpu *self);

/* The caller's job ends. Outside the runtime. */
void misses_job_ends(void);

/* Count and reset. */
uint32_t misses_taken(_Atomic(uint32_t) *missed);

/* A job that missed so often has ended. */
void misses_measure(struct measured *m, uint32_t missed);

#endif
