/* SPDX-License-Identifier: MIT */
/*
 * mistakes.h - policies with a deliberate mistake, which the simulator must find.
 *
 * A process can register eight policies and remove none. So one table, named "mistake", serves for
 * all of them and is changed between runs; the runtime copies it when a run begins.
 */
#ifndef PIRN_TESTS_POLICY_MISTAKES_H
#define PIRN_TESTS_POLICY_MISTAKES_H

#include <pirn/policy.h>

extern struct pirn_policy policy_mistake;

/* Their names; ends with NULL. */
const char *const *mistake_names(void);

/* Make policy_mistake the i-th mistake; returns its name. */
void mistake_make(unsigned i);
const char *mistake_made(void);

/* Run the suites under each mistake until it is found; returns the exit status. */
int mistakes_main(void);

#endif
