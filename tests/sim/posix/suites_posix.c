/* SPDX-License-Identifier: MIT */
/* suites_posix.c - what pirn-sim-posix-tests runs: the POSIX layer on the simulated kernel. */
#include "../run.h"
#include "posix_suite.h"

const char program_name[] = "pirn-sim-posix-tests";

const struct suite *const suites[] = {&suite_signals, &suite_calls, &suite_process, NULL};
