/* SPDX-License-Identifier: MIT */
/*
 * list.h - the policies of this folder, for the programs that run the suites under each of them
 * (registers.c, simulated.c). To add one, put its table and its specs here. In CMakeLists.txt, put
 * its file into `policies`, its name into the lists of tests and into the message that
 * policy_refused(name) expects.
 */
#ifndef PIRN_TESTS_POLICY_LIST_H
#define PIRN_TESTS_POLICY_LIST_H

#include <pirn/policy.h>

extern const struct pirn_policy example_home, policy_owned, policy_relay, policy_ranked;

#define POLICY_TABLES &example_home, &policy_owned, &policy_relay, &policy_ranked

/* As in PIRN_SCHED: pirn-policy-sim runs under these. */
#define POLICY_SPECS "home", "home:start=turn", "owned", "owned:order=lifo", "relay", "ranked"

#endif
