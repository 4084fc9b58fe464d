/* SPDX-License-Identifier: MIT */
/* others.h - policies that use what the example does not. */
#ifndef OTHERS_H
#define OTHERS_H

#include <pirn/policy.h>

extern const struct pirn_policy policy_owned, policy_relay, policy_ranked;

#endif
