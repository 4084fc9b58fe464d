/* SPDX-License-Identifier: MIT */
/*
 * posix_platform.h (glibc) - the functions that the files common to both ABIs call: programs with
 * sanitizers, signals, and sleeps outside the runtime.
 */
#ifndef PIRN_POSIX_PLATFORM_H
#define PIRN_POSIX_PLATFORM_H

#include "../linux/posix_sanitizer.h"
#include "../signals/posix_signal.h"

/* Sleep in the kernel: for a kernel thread that Pirn did not make, before the runtime starts, or on
 * a clock that is not the runtime's. Returns the errors of clock_nanosleep. */
int posix_sleep_elsewhere(clockid_t clock, int flags, const struct timespec *time,
                          struct timespec *left);

/* pthread_create inside timer_create; false: elsewhere. *error as pthread_create returns it. */
bool posix_timer_helper(pthread_t *thread, void *(*start)(void *), void *arg, int *error);

#endif
