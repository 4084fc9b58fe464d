/* SPDX-License-Identifier: MIT */
/*
 * mistakes.h - policies with a deliberate mistake, which the simulator must find.
 *
 * A process can register eight policies and take none back. So one table, named "mistake", stands
 * for all of them and is changed between runs; the runtime copies it when a run begins.
 */
#ifndef PIRN_TESTS_POLICY_MISTAKES_H
#define PIRN_TESTS_POLICY_MISTAKES_H

#include <pirn/policy.h>

extern struct pirn_policy policy_mistake;

/* Their names; ends with NULL. */
const char *const *mistake_names(void);

/* policy_mistake is the i-th from now on. The name of that one. */
void mistake_make(unsigned i);
const char *mistake_made(void);

/* Run the suites under each of them until it is found: exit status. */
int mistakes_main(void);

#endif
