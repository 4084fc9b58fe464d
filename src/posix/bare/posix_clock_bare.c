/* SPDX-License-Identifier: MIT */
/*
 * posix_clock_bare.c (bare) - clocks. CLOCK_MONOTONIC counts from the time the board was switched
 * on. CLOCK_REALTIME is CLOCK_MONOTONIC plus `offset`. The offset comes from the host that runs the
 * program, if it knows the calendar time (gettimeofday); it is asked on the first use.
 * clock_settime changes it. There are no clocks for the CPU time of processes and threads.
 *
 * Lock: calendar.lock, which no interrupt handler takes.
 */
#include <errno.h>
#include <sys/time.h>

#include "../posix.h"
#include "port_trace.h"

#define NS_PER_S 1000000000

static struct {
    struct rt_mutex lock;
    bool known;     /* (lock) */
    int64_t offset; /* (lock) ns that CLOCK_REALTIME is ahead of CLOCK_MONOTONIC */
} calendar;

static int64_t calendar_offset(void)
{
    struct timeval now;
    rt_mutex_lock_until(&calendar.lock, UINT64_MAX);
    if (!calendar.known && gettimeofday(&now, NULL) == 0) {
        calendar.offset = (int64_t)now.tv_sec * NS_PER_S + now.tv_usec * 1000 - (int64_t)port_now();
        calendar.known = true;
    }
    int64_t offset = calendar.offset;
    rt_mutex_unlock(&calendar.lock);
    return offset;
}

int pirn_posix_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!posix_clock_valid(clock)) {
        return posix_fail(EINVAL);
    }
    int64_t offset = clock == CLOCK_REALTIME ? calendar_offset() : 0;
    int64_t ns = (int64_t)port_now() + offset;
    *t = (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    return 0;
}

int pirn_posix_clock_getres(clockid_t clock, struct timespec *t)
{
    if (!posix_clock_valid(clock)) {
        return posix_fail(EINVAL);
    }
    uint64_t hz = port_trace_clock_hz();
    if (t != NULL) {
        *t = (struct timespec){.tv_nsec = (long)((NS_PER_S + hz - 1) / hz)};
    }
    return 0;
}

int pirn_posix_clock_settime(clockid_t clock, const struct timespec *t)
{
    if (clock != CLOCK_REALTIME || t->tv_nsec < 0 || t->tv_nsec >= NS_PER_S || t->tv_sec < 0) {
        return posix_fail(EINVAL);
    }
    rt_mutex_lock_until(&calendar.lock, UINT64_MAX);
    calendar.offset = (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec - (int64_t)port_now();
    calendar.known = true;
    rt_mutex_unlock(&calendar.lock);
    return 0;
}

/* C11 7.27.2.5. Returns base, or 0 on an error. */
int pirn_posix_timespec_get(struct timespec *t, int base)
{
    return base == TIME_UTC && pirn_posix_clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}
