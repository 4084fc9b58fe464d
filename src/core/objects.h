/* SPDX-License-Identifier: MIT */
/*
 * objects.h - the calls that the core makes into the synchronisation objects (src/sync), which lie
 * above it: one constant table, as personality.h is for the layer of the API.
 *
 * Callers: the end of a thread, a fork, the start of the runtime, a CPU that goes to sleep. No call
 * is on a fast path.
 *
 * Invariants:
 *   1. src/sync/objects.c defines the only table; every library contains it. It is constant, so it
 *      holds before any constructor has run.
 *   2. An entry whose feature is left out of the build (RT_OWNED, RT_REPORT, RT_POLLERS,
 *      PORT_PROCESSES) is
 *      NULL. Callers test that constant, not the entry.
 * Locks: none.
 */
#ifndef PIRN_CORE_OBJECTS_H
#define PIRN_CORE_OBJECTS_H

#include "compiler.h"

struct cpu;
struct thread;

struct rt_objects {
    /* RT_OWNED: `self`, which ends, still holds mutexes (self->held is not NULL). Called outside
     * the runtime, on the kernel thread that executes it. */
    void (*held_end)(struct thread *self);

    /* PORT_PROCESSES: in the child of a fork, whose only thread is the caller: forget the waiters
     * in queues that are not part of an object, and the software timers. */
    void (*forked)(void);

    /* RT_AFFINITY: t, whose wait has ended and which does not run yet, waited for room, not for
     * data: for a semaphore that did not begin at 0. Inside the runtime. */
    bool (*waited_for_room)(const struct thread *t);

    /* RT_REPORT: the runtime starts. */
    void (*report_start)(void);

    /* RT_REPORT: the caller's CPU, inside the runtime, has said that it sleeps, and no timer of its
     * own will wake it. */
    void (*report_idle)(void);

    /* RT_POLLERS: the CPU, inside the runtime, has nothing to run, and rt.pollers_eager is not 0:
     * make the threads of pollers ready that wait for that. True: there was one. */
    bool (*pollers_wake)(struct cpu *cpu);
};

HIDDEN extern const struct rt_objects rt_objects;

#endif
