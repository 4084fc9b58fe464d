/* SPDX-License-Identifier: MIT */
/*
 * posix_sleep.c - sleeping. A user thread that sleeps gives its CPU to others; any other caller
 * sleeps as posix_platform.h says. All functions are cancellation points.
 */
#include <errno.h>

#include "demand.h"
#include "port_signals.h"
#include "posix.h"
#include "posix_platform.h"

#define NS_PER_S 1000000000

static uint64_t ns_of(const struct timespec *time)
{
    uint64_t seconds = (uint64_t)time->tv_sec;
    return seconds >= UINT32_MAX ? UINT64_MAX / 2 : seconds * NS_PER_S + (uint64_t)time->tv_nsec;
}

/* 0, or EINTR after a handler has run. */
static int user_sleep_to(uint64_t deadline)
{
    int error;
    posix_signals_expect();
    while ((error = rt_sleep_point(deadline)) != 0) {
        if (error == -ECANCELED) {
            posix_point();
        }
        if (error == -EINTR && posix_interrupted(false)) {
            return EINTR;
        }
    }
    if (unlikely(rt_signals) && rt_signalled()) {
        rt_signals_act(); /* one that came after the time was over: before the caller goes on */
    }
    return 0;
}

/* A sleep of length 0 yields. */
static int user_sleep(uint64_t ns, struct timespec *left)
{
    if (ns == 0) {
        rt_yield();
        return 0;
    }
    uint64_t deadline = port_now() + ns;
    int error = user_sleep_to(deadline);
    if (error == EINTR && left != NULL) {
        uint64_t now = port_now(), rest = deadline > now ? deadline - now : 0;
        *left = (struct timespec){(time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S)};
    }
    return error;
}

static int user_sleep_until(clockid_t clock, const struct timespec *time)
{
    struct posix_limit limit = {clock, time};
    uint64_t deadline;
    return posix_deadline(&limit, &deadline) == 0 ? user_sleep_to(deadline) : 0;
}

int pirn_pthread_job_wait_np(unsigned *missed)
{
    uint64_t release;
    int passed = rt_job_next(&release);
    if (passed < 0) {
        return -passed;
    }
    if (missed != NULL) {
        *missed = (unsigned)passed;
    }
    posix_point();
    if (passed > 0) {
        rt_yield();
    }
    while (passed == 0 && user_sleep_to(release) == EINTR) { /* a handler has run */
    }
    return 0;
}

int pirn_posix_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                               struct timespec *left)
{
    if (time->tv_nsec < 0 || time->tv_nsec >= NS_PER_S || time->tv_sec < 0) {
        return EINVAL;
    }
    if (!posix_clock_valid(clock) || posix_is_foreign()) {
        return posix_sleep_elsewhere(clock, flags, time, left);
    }
    posix_point();
    if (flags & TIMER_ABSTIME) {
        return user_sleep_until(clock, time);
    }
    return user_sleep(ns_of(time), left);
}

int pirn_posix_nanosleep(const struct timespec *time, struct timespec *left)
{
    int error = pirn_posix_clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    return error == 0 ? 0 : posix_fail(error);
}

int pirn_posix_usleep(useconds_t microseconds)
{
    struct timespec time = {.tv_sec = microseconds / 1000000,
                            .tv_nsec = (long)(microseconds % 1000000) * 1000};
    return pirn_posix_nanosleep(&time, NULL);
}

/* Returns the seconds that are left, rounded down, as in the C library. */
unsigned pirn_posix_sleep(unsigned seconds)
{
    struct timespec time = {.tv_sec = seconds};
    return pirn_posix_nanosleep(&time, &time) != 0 ? (unsigned)time.tv_sec : 0;
}

int pirn_pthread_delay_np(const struct timespec *interval)
{
    return pirn_posix_clock_nanosleep(CLOCK_MONOTONIC, 0, interval, NULL);
}
