/* SPDX-License-Identifier: MIT */
/*
 * built_in.h - which policies the library has: all, unless its build leaves some out
 * (src/features.cmake). For policies.c.
 */
#ifndef PIRN_SCHED_BUILT_IN_H
#define PIRN_SCHED_BUILT_IN_H

#include "policy.h"

extern const struct pirn_policy sched_single, sched_central, sched_dist, sched_steal, sched_request;

/* Elements of a list. */
#ifdef PIRN_WITHOUT_STEAL
#define SCHED_STEAL
#define sched_is_steal(policy) ((void)(policy), false)
#define STEAL_YIELD NULL
#else
#define SCHED_STEAL &sched_steal,
#define sched_is_steal(policy) ((policy) == &sched_steal)
#define STEAL_YIELD steal_yield
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
#define sched_is_dist(policy) ((void)(policy), false)
#define DIST_YIELD NULL
#else
#define SCHED_DIST &sched_dist,
#define sched_is_dist(policy) ((policy) == &sched_dist)
#define DIST_YIELD dist_yield
#endif

#ifdef PIRN_WITHOUT_REQUEST
#define SCHED_REQUEST
#define sched_is_request(policy) ((void)(policy), false)
#define REQUEST_YIELD NULL
#else
#define SCHED_REQUEST &sched_request,
#define sched_is_request(policy) ((policy) == &sched_request)
#define REQUEST_YIELD request_yield
#endif

/* The policy's own code for a yield; NULL: it has none. */
ALWAYS_INLINE bool (*sched_yield_of(const struct pirn_policy *policy))(void)
{
    return sched_is_steal(policy)     ? STEAL_YIELD
           : sched_is_dist(policy)    ? DIST_YIELD
           : sched_is_request(policy) ? REQUEST_YIELD
                                      : NULL;
}

#endif
