/* SPDX-License-Identifier: MIT */
/*
 * capacities.h - code that policies share for CPUs of different capacities (core/capacity.h): the
 * option, and the order in which pinned threads go round the CPUs.
 */
#ifndef PIRN_SCHED_CAPACITIES_H
#define PIRN_SCHED_CAPACITIES_H

#include "../core/capacity.h"
#include "policy.h"

#if RT_CAPACITIES
int sched_set_capacity(const char *value, const char **why);

/* In the list of a policy's options, at the end. */
#define CAPACITY_OPTION                                                                            \
    {.name = "capacity",                                                                           \
     .values = "on|off",                                                                           \
     .deflt = "off",                                                                               \
     .help = "on: use the capacities of the CPUs, if they differ; off: treat all CPUs alike",      \
     .set = sched_set_capacity},

/* From a policy's init: rt.by_capacity, and the order of turns. */
void capacity_init(void);

/* The CPU of the n-th thread that is placed in turn. */
unsigned capacity_turn_of(uint32_t n);

ALWAYS_INLINE unsigned capacity_turn(uint32_t n)
{
    return unlikely(rt.by_capacity) ? capacity_turn_of(n) : n % rt.ncpu;
}

/* What loads are spread by: all CPUs are alike unless the policy uses their capacities. */
ALWAYS_INLINE unsigned capacity_share(unsigned cpu)
{
    return unlikely(rt.by_capacity) ? rt_capacity(cpu) : PORT_CAPACITY_MAX;
}
#else
#define CAPACITY_OPTION
ALWAYS_INLINE void capacity_init(void) {}
ALWAYS_INLINE unsigned capacity_turn(uint32_t n)
{
    return n % rt.ncpu;
}
ALWAYS_INLINE unsigned capacity_share(unsigned cpu)
{
    (void)cpu;
    return PORT_CAPACITY_MAX;
}
#endif

#endif
