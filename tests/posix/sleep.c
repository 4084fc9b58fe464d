/* SPDX-License-Identifier: MIT */
/* sleep.c - sleeping: long enough, together, and with bad arguments. */
#include "check.h"

#define THREADS 50

static void test_sleeps_last_long_enough(void)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5), time = {.tv_nsec = 5 * NS_PER_MS};
    OK(usleep(5000));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    OK(nanosleep(&time, NULL));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = after_ms(CLOCK_REALTIME, 5);
    OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL));
    CHECK(has_passed(CLOCK_REALTIME, &at));
}

static void test_a_past_time_does_not_sleep(void)
{
    struct timespec past = {.tv_sec = 1}, none = {0};
    OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL));
    OK(nanosleep(&none, NULL));
    OK(usleep(0));
    CHECK_EQ(sleep(0), 0);
}

static void test_bad_times_are_refused(void)
{
    struct timespec bad = {.tv_nsec = NS_PER_S};
    FAILS(nanosleep(&bad, NULL), EINVAL);
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
    bad.tv_nsec = 1;
    CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &bad, NULL), EINVAL);
    bad.tv_sec = -1;
    FAILS(nanosleep(&bad, NULL), EINVAL);
}

static void *sleeps(void *arg)
{
    long ms = (long)arg;
    struct timespec at = after_ms(CLOCK_MONOTONIC, ms);
    usleep((useconds_t)ms * 1000);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    return NULL;
}

/* A sleeping thread keeps no other from running: all of them sleep at the same time. */
static void test_threads_sleep_together(void)
{
    pthread_t t[THREADS];
    struct timespec limit = after_ms(CLOCK_MONOTONIC, 50 * THREADS / 2);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(sleeps, (void *)50L);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK(!has_passed(CLOCK_MONOTONIC, &limit));
}

static flag_t stop;

static void *computes(void *arg)
{
    while (!flag_get(&stop)) {
        sched_yield();
    }
    return arg;
}

static void test_sleepers_wake_beside_busy_threads(void)
{
    pthread_t busy[4];
    for (int i = 0; i < 4; i++) {
        busy[i] = start(computes, NULL);
    }
    for (int i = 0; i < 5; i++) {
        sleeps((void *)2L);
    }
    flag_set(&stop, 1);
    for (int i = 0; i < 4; i++) {
        join(busy[i]);
    }
}

int main(void)
{
    RUN(test_sleeps_last_long_enough);
    RUN(test_a_past_time_does_not_sleep);
    RUN(test_bad_times_are_refused);
    RUN(test_threads_sleep_together);
    RUN(test_sleepers_wake_beside_busy_threads);
    return 0;
}
