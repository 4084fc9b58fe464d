/* SPDX-License-Identifier: MIT */
/*
 * built_in.h - the policies of the library: all that the platform can have, unless its build leaves
 * some out (src/features.cmake). For policies.c.
 */
#ifndef PIRN_SCHED_BUILT_IN_H
#define PIRN_SCHED_BUILT_IN_H

#include "hardware.h"
#include "policy.h"

extern const struct sched_built_in sched_single, sched_central, sched_dist, sched_steal,
    sched_request, sched_gate, sched_groups, sched_fair, sched_hw;

/* Elements of a list. */
#ifdef PIRN_WITHOUT_STEAL
#define SCHED_STEAL
#else
#define SCHED_STEAL &sched_steal,
#endif

#ifdef PIRN_WITHOUT_SINGLE
#define SCHED_SINGLE
#else
#define SCHED_SINGLE &sched_single,
#endif

#ifdef PIRN_WITHOUT_CENTRAL
#define SCHED_CENTRAL
#else
#define SCHED_CENTRAL &sched_central,
#endif

#ifdef PIRN_WITHOUT_DIST
#define SCHED_DIST
#else
#define SCHED_DIST &sched_dist,
#endif

#ifdef PIRN_WITHOUT_REQUEST
#define SCHED_REQUEST
#else
#define SCHED_REQUEST &sched_request,
#endif

#if !RT_DEMANDS || defined(PIRN_WITHOUT_GATE)
#define SCHED_GATE
#else
#define SCHED_GATE &sched_gate,
#endif

#if !RT_DEMANDS || defined(PIRN_WITHOUT_GROUPS)
#define SCHED_GROUPS
#else
#define SCHED_GROUPS &sched_groups,
#endif

#if !RT_DEMANDS || defined(PIRN_WITHOUT_FAIR)
#define SCHED_FAIR
#else
#define SCHED_FAIR &sched_fair,
#endif

#if !RT_HARDWARE || defined(PIRN_WITHOUT_HW)
#define SCHED_HW
#else
#define SCHED_HW &sched_hw,
#endif

#endif
