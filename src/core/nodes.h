/* SPDX-License-Identifier: MIT */
/*
 * nodes.h - NUMA nodes: which CPUs are near each other.
 *
 * Where CPUs belong to several nodes (port_nodes.h, or the option `nodes`):
 *   - thieves look at near CPUs before far ones (sched/steal_search.c), and a kick of any CPU wakes
 *     a near sleeper first (wake.c);
 *   - a stack with its descriptor goes back to the node that made it (stack.c), whose memory it
 *     has;
 *   - a consumer whose producers' CPUs are taken goes to a CPU without work on such a node
 *     (sched/affinity_place.c).
 *
 * Invariant: the table is constant after nodes_begin, which the thread that starts the runtime
 * calls. NULL: there is one node, or no memory for the table; then all CPUs are alike.
 */
#ifndef PIRN_CORE_NODES_H
#define PIRN_CORE_NODES_H

#include "runtime.h"

#if RT_NODES
/* Options and port are ready: the nodes of all CPUs. */
void nodes_begin(void);

/* A CPU's record is new; its id is set. */
void nodes_cpu_begin(struct cpu *cpu);

/* The end of a simulator run. */
void nodes_end(void);

/* The k-th nearest other CPU, from 0 to rt.ncpu - 2; equally far ones go round from the right
 * neighbour on. Where rt.near. */
ALWAYS_INLINE unsigned nodes_near(unsigned cpu, unsigned k)
{
    return rt.near[cpu * rt.ncpu + k];
}

/* In the unit of port_nodes.h. */
unsigned nodes_distance(unsigned cpu, unsigned other);

ALWAYS_INLINE bool nodes_differ(void)
{
    return unlikely(rt.near != NULL);
}

ALWAYS_INLINE unsigned nodes_of(unsigned cpu)
{
    return rt.node[cpu];
}
#else
ALWAYS_INLINE void nodes_begin(void) {}
ALWAYS_INLINE void nodes_cpu_begin(struct cpu *cpu)
{
    (void)cpu;
}
ALWAYS_INLINE void nodes_end(void) {}
ALWAYS_INLINE unsigned nodes_near(unsigned cpu, unsigned k)
{
    return (cpu + 1 + k) % rt.ncpu;
}
ALWAYS_INLINE unsigned nodes_distance(unsigned cpu, unsigned other)
{
    (void)cpu;
    (void)other;
    return 0;
}
ALWAYS_INLINE bool nodes_differ(void)
{
    return false;
}
ALWAYS_INLINE unsigned nodes_of(unsigned cpu)
{
    (void)cpu;
    return 0;
}
#endif

#endif
