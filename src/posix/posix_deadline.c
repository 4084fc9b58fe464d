/* SPDX-License-Identifier: MIT */
/*
 * posix_deadline.c - converts POSIX's absolute times to the core's deadlines.
 */
#include <errno.h>

#include "../sync/shared.h"
#include "posix.h"

#define NS_PER_S 1000000000

/* A time this far away counts as never. */
#define FAR_SECONDS (INT64_C(1) << 33)

int posix_deadline(const struct posix_limit *limit, uint64_t *deadline)
{
    const struct timespec *at = limit->abstime;
    struct timespec now;
    if (!posix_clock_valid(limit->clock) || at->tv_nsec < 0 || at->tv_nsec >= NS_PER_S) {
        return EINVAL;
    }
    clock_gettime(limit->clock, &now);
    *deadline = port_now(); /* after the other clock: a wait may end late, never early */
    if (at->tv_sec < now.tv_sec || (at->tv_sec == now.tv_sec && at->tv_nsec <= now.tv_nsec)) {
        return ETIMEDOUT;
    }
    /* tv_sec may be any number; now.tv_sec is small and positive. After the check nothing
     * overflows. */
    if (at->tv_sec >= FAR_SECONDS) {
        *deadline = UINT64_MAX - 1;
        return 0;
    }
    int64_t left = (at->tv_sec - now.tv_sec) * NS_PER_S + (at->tv_nsec - now.tv_nsec);
    *deadline += (uint64_t)left;
    return 0;
}

int posix_shared_limit(const struct posix_limit *limit, struct rt_shared_limit *shared)
{
    uint64_t ignored;
    int error = posix_deadline(limit, &ignored);
    if (error != 0) {
        return error;
    }
    const struct timespec *at = limit->abstime;
    *shared = (struct rt_shared_limit){.deadline = UINT64_MAX,
                                       .realtime = limit->clock == CLOCK_REALTIME};
    if (at->tv_sec < FAR_SECONDS) {
        shared->deadline = (uint64_t)at->tv_sec * NS_PER_S + (uint64_t)at->tv_nsec;
    }
    return 0;
}
