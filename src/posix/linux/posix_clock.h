/* SPDX-License-Identifier: MIT */
/*
 * posix_clock.h - shared by the files of the POSIX layer that take clock ids: those of threads' CPU
 * time.
 */
#ifndef PIRN_POSIX_CLOCK_H
#define PIRN_POSIX_CLOCK_H

#include "../posix.h"

/* The first id that is ours. */
#define CLOCK_OURS ((clockid_t)0x40000000)

/* Sleeping on such a clock is refused: EINVAL (the caller's own, or no thread's), ENOTSUP. */
int posix_clock_sleep(clockid_t clock);

#endif
