/* SPDX-License-Identifier: MIT */
/*
 * placing.h - what the simulator learns of consumers and the CPUs where they are put, to check the
 * rules of sched/affinity.h by a record of its own (port/env/sim/sim_placing.c). Everywhere else
 * these functions are empty.
 *
 * Callers: sched/affinity.c, affinity_place.c. A call under the lock of a queue has `locked` in its
 * name: calls for one queue come in the order of its changes.
 */
#ifndef PIRN_CORE_PLACING_H
#define PIRN_CORE_PLACING_H

#include "compiler.h"

struct cpu;
struct thread;

enum placing_rule { PLACING_DECLARED, PLACING_LEARNED, PLACING_OLD };

#ifdef PIRN_SIM
/* A place is looked for: for t, which wakes; or, preceded, which was to run on the caller's CPU. */
void placing_begins(const struct cpu *self, const struct thread *t, enum placing_rule rule,
                    bool preceded);

/* t is the next of the consumers of CPU `cpu`. near: that is no producer's, but near one. */
void placing_links_locked(const struct cpu *self, unsigned cpu, const struct thread *t, bool near);

/* t is no longer in that queue. */
void placing_unlinks_locked(unsigned cpu, const struct thread *t);

/* No place is left: t goes to the policy. */
void placing_leaves(const struct cpu *self, const struct thread *t);
#else
ALWAYS_INLINE void placing_begins(const struct cpu *self, const struct thread *t,
                                  enum placing_rule rule, bool preceded)
{
    (void)self;
    (void)t;
    (void)rule;
    (void)preceded;
}
ALWAYS_INLINE void placing_links_locked(const struct cpu *self, unsigned cpu,
                                        const struct thread *t, bool near)
{
    (void)self;
    (void)cpu;
    (void)t;
    (void)near;
}
ALWAYS_INLINE void placing_unlinks_locked(unsigned cpu, const struct thread *t)
{
    (void)cpu;
    (void)t;
}
ALWAYS_INLINE void placing_leaves(const struct cpu *self, const struct thread *t)
{
    (void)self;
    (void)t;
}
#endif

#endif
