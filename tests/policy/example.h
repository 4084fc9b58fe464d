/* SPDX-License-Identifier: MIT */
/* example.h - the policy of example.c, for the programs that register it. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <pirn/policy.h>

extern const struct pirn_policy example_home;

#endif
