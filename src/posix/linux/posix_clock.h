/* SPDX-License-Identifier: MIT */
/*
 * posix_clock.h - the ids of threads' CPU-time clocks, for the files of the POSIX layer that take
 * clock ids.
 */
#ifndef PIRN_POSIX_CLOCK_H
#define PIRN_POSIX_CLOCK_H

#include "../posix.h"

/* The first id of a thread's clock. */
#define CLOCK_OURS ((clockid_t)0x40000000)

/* The error for sleeping on such a clock: EINVAL (the caller's own clock, or no thread's) or
 * ENOTSUP. */
int posix_clock_sleep(clockid_t clock);

#endif
