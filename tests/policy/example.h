/* SPDX-License-Identifier: MIT */
/* example.h - the organization of example.c, for the programs that register it. */
#ifndef PIRN_TESTS_POLICY_EXAMPLE_H
#define PIRN_TESTS_POLICY_EXAMPLE_H

#include "../../src/sched/policy.h"

extern const struct sched_policy sched_home;

#endif
