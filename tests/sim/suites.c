/* SPDX-License-Identifier: MIT */
/* suites.c - what pirn-sim-tests runs. */
#include "run.h"

extern const struct suite suite_prof, suite_io; /* of the simulator alone */

const char program_name[] = "pirn-sim-tests";

const struct suite *const suites[] = {&suite_core, &suite_sync,   &suite_policy, &suite_classes,
                                      &suite_call, &suite_cancel, &suite_signal, &suite_prof,
                                      &suite_io,   NULL};
