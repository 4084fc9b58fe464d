/* SPDX-License-Identifier: MIT */
/*
 * posix_platform.h (glibc) - what the files that both ABIs have in common call: programs with
 * sanitizers, signals, and sleeping where the runtime has no say.
 */
#ifndef PIRN_POSIX_PLACE_H
#define PIRN_POSIX_PLACE_H

#include "../linux/posix_sanitizer.h"
#include "../signals/posix_signal.h"

/* A kernel thread that Pirn did not make, or no runtime yet; or a clock that is not ours. Errors as
 * clock_nanosleep. */
int posix_sleep_elsewhere(clockid_t clock, int flags, const struct timespec *time,
                          struct timespec *left);

#endif
