/* SPDX-License-Identifier: MIT */
/*
 * sim_timed.h - the simulator as a model of performance: sim_config.timed.
 *
 * Each context (a CPU, the device, a foreign thread) has a clock of its own. What it does costs
 * time, and the context with the lowest clock goes on; so N CPUs work at once in simulated time. A
 * context that waits goes on at its deadline, or when the context that wakes it has paid for the
 * kick and the wake-up has taken its time. pirn_now is the clock of the CPU that runs the caller.
 *
 * With a topology, the program's accesses (sim_touch) and the runtime's atomics go through a model
 * of its caches (caches/caches.h); the runtime's other accesses cost `step_ps` in all. A program's
 * pages get frames in the order of their first touch, in the memory of the node that touches; the
 * seed chooses the low bits of their numbers, and so the sets of the caches.
 *
 * The same seed gives the same run, as in the exploring mode. The seed chooses among contexts with
 * equal clocks (unless `by_number`), and the frames. Nothing else is random: no early returns from
 * waits, no ticks but those that PIRN_PREEMPT asks for. Memory is sequentially consistent. Programs
 * of the native API only.
 */
#ifndef PIRN_SIM_TIMED_H
#define PIRN_SIM_TIMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caches/caches.h"

/* Costs. */
struct sim_timing {
    const struct caches_topology *topology; /* NULL: no caches; an access costs access_ps */
    bool prefetch;                          /* the caches' prefetcher */
    bool lines;                             /* keep what each cache line costs: sim_line_next */
    bool by_number;      /* of contexts with equal clocks the first goes on, not a random one */
    const char *spin;    /* PIRN_SPIN, microseconds; NULL: its default */
    const char *tick;    /* PIRN_TICK, microseconds; NULL: its default */
    const char *slice;   /* PIRN_SLICE, the same */
    const char *nodes;   /* PIRN_NODES; NULL: those of the topology */
    uint32_t access_ps;  /* without caches: a load or a store */
    uint32_t atomic_ps;  /* a read-modify-write or a full fence, beside the access */
    uint32_t step_ps;    /* ordinary instructions of the runtime, at each scheduling point */
    uint32_t relax_ns;   /* a round of spinning */
    uint32_t yield_ns;   /* a search offers its processor to other programs, which do not want it */
    uint32_t switch_ns;  /* registers and stack of a context switch */
    uint32_t barrier_ns; /* the heavy fence */
    uint32_t kick_ns;    /* waking a CPU or a kernel thread: what the waker pays */
    uint32_t wake_ns;    /* and how long after that the sleeper goes on */
    uint32_t tick_ns;    /* a tick that interrupts a thread */
};

/* Costs of the Linux port on a processor of about 3 GHz, without a topology.
 * docs/internals/model.md says where they come from. */
extern const struct sim_timing sim_timing_linux;

/* The running thread touches each line of the memory once, in ascending order, on the CPU where it
 * runs. It may be preempted in between, and go on elsewhere. Without sim_config.timed: a scheduling
 * point. */
void sim_touch(const volatile void *at, size_t bytes, bool write);

/* The running thread computes for so long, in picoseconds. */
void sim_compute(uint64_t ps);

/* What a thread has done so far. */
struct sim_usage {
    uint64_t run_ns;                       /* on CPUs */
    uint64_t switches;                     /* times that it was switched to */
    uint64_t migrations;                   /* of these, on another CPU than before */
    struct caches_counts program, runtime; /* sim_touch; atomics of the runtime on its CPU */
};
void sim_usage(struct sim_usage *usage); /* of the running thread */

/* What the runtime's atomics at one cache line have cost so far; timing.lines, with a topology. */
struct sim_line {
    uintptr_t address;             /* of the line */
    uint64_t accesses, misses, ps; /* misses: the L1 did not have it */
};
/* The next one after `line`, in no order; NULL for the first one, and behind the last one. */
const struct sim_line *sim_line_next(const struct sim_line *line);
void sim_lines_forget(void); /* count from now on */

/* The machine of the present run; NULL if it has none. Valid until the next run. */
const struct caches *sim_caches(void);

#endif
