/* SPDX-License-Identifier: MIT */
/*
 * classes.c - Pirn's scheduling classes beyond the standard, on Linux: weights; and with preemption
 * on one worker shares of CPU time, slices of SCHED_RR, strictness of SCHED_FIFO. Ticks are of CPU
 * time, some 4 ms each, and a machine with other load loses some, so the bounds are wide. The
 * simulator has the exact ones (suite classes).
 *
 *     posix-classes            the tests that need no ticks
 *     posix-classes --ticks    under PIRN_PREEMPT=1 PIRN_CPUS=1 PIRN_TICK=1000 PIRN_SLICE=1000
 */
#include <pirn/pthread_np.h>

#include "check.h"
#include "common/options.h"

#define LONG_NS 600000000L

static _Atomic(int) stop, turns;
static _Atomic(long) work[2];

static void set_class(pthread_t thread, int policy, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    OK(pthread_setschedparam(thread, policy, &param));
}

static void weights_are_kept_and_checked(void)
{
    unsigned weight = 0;
    OK(pthread_getweight_np(pthread_self(), &weight));
    CHECK_EQ(weight, 10);
    CHECK_EQ(pthread_setweight_np(pthread_self(), 0), EINVAL);
    CHECK_EQ(pthread_setweight_np(pthread_self(), 101), EINVAL);
    OK(pthread_setweight_np(pthread_self(), 100));
    set_class(pthread_self(), SCHED_RR, 3);
    set_class(pthread_self(), SCHED_OTHER, 0);
    OK(pthread_getweight_np(pthread_self(), &weight));
    CHECK_EQ(weight, 100);
    OK(pthread_setweight_np(pthread_self(), 10));
}

static void *tells_weight(void *out)
{
    OK(pthread_getweight_np(pthread_self(), out));
    return NULL;
}

static void weight_is_inherited(void)
{
    pthread_t t;
    unsigned weight = 0;
    OK(pthread_setweight_np(pthread_self(), 7));
    OK(pthread_create(&t, NULL, tells_weight, &weight));
    OK(pthread_join(t, NULL));
    CHECK_EQ(weight, 7);
    OK(pthread_setweight_np(pthread_self(), 10));
}

static long ns_of(clockid_t clock)
{
    struct timespec t;
    OK(clock_gettime(clock, &t));
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Reports the CPU time that it gets, which ticks also measure (the work done in that time varies on
 * a crowded machine). It calls no function of the library meanwhile. */
static void *computes(void *work_of)
{
    long from = ns_of(CLOCK_THREAD_CPUTIME_ID);
    while (!stop) {
        for (volatile int i = 0; i < 1000; i++) {
        }
    }
    *(_Atomic(long) *)work_of = ns_of(CLOCK_THREAD_CPUTIME_ID) - from;
    return NULL;
}

/* Two threads compete for some time. Main has a higher priority and reads the clock when it can: at
 * the end of its sleep. */
static void compete(int policy, int priority, unsigned first, unsigned second)
{
    pthread_t t[2];
    unsigned weights[2] = {first, second};
    struct timespec nap = {.tv_nsec = LONG_NS / 20};
    stop = 0;
    set_class(pthread_self(), SCHED_FIFO, 90);
    for (int i = 0; i < 2; i++) {
        work[i] = 0;
        OK(pthread_create(&t[i], NULL, computes, (void *)&work[i]));
        set_class(t[i], policy, priority);
        OK(pthread_setweight_np(t[i], weights[i]));
    }
    for (long from = ns_of(CLOCK_PROCESS_CPUTIME_ID);
         ns_of(CLOCK_PROCESS_CPUTIME_ID) - from < LONG_NS;) {
        OK(nanosleep(&nap, NULL));
    }
    stop = 1;
    for (int i = 0; i < 2; i++) {
        OK(pthread_join(t[i], NULL));
    }
    set_class(pthread_self(), SCHED_OTHER, 0);
}

static void other_threads_share_by_weight(void)
{
    compete(SCHED_OTHER, 0, 10, 30);
    CHECK(2 * work[1] > 3 * work[0] && work[1] < 6 * work[0]);
    compete(SCHED_OTHER, 0, 10, 10);
    CHECK(work[1] * 2 > work[0] && work[1] < work[0] * 2);
}

static void rr_threads_take_turns(void)
{
    compete(SCHED_RR, 5, 10, 30); /* whatever their weights */
    CHECK(work[1] * 2 > work[0] && work[1] < work[0] * 2);
}

static void *counts_turns(void *unused)
{
    turns++;
    return unused;
}

/* It computes for many ticks, and no thread of lower or equal priority runs. */
static void fifo_thread_keeps_the_cpu(void)
{
    pthread_t t[2];
    turns = 0;
    set_class(pthread_self(), SCHED_FIFO, 20);
    for (int i = 0; i < 2; i++) {
        OK(pthread_create(&t[i], NULL, counts_turns, NULL)); /* inherits */
    }
    set_class(t[1], SCHED_OTHER, 0);
    for (long from = ns_of(CLOCK_PROCESS_CPUTIME_ID);
         ns_of(CLOCK_PROCESS_CPUTIME_ID) - from < 50000000L;) {
    }
    CHECK_EQ(turns, 0);
    sched_yield();
    CHECK_EQ(turns, 1);
    set_class(pthread_self(), SCHED_OTHER, 0);
    for (int i = 0; i < 2; i++) {
        OK(pthread_join(t[i], NULL));
    }
}

int main(int argc, char **argv)
{
    bool ticks = false;
    const struct option_spec options[] = {
        option_flag("ticks", &ticks, "what takes ticks: shares, turns"), {0}};
    const struct option_page page = {.summary = "Scheduling classes beyond the standard.",
                                     .options = options};
    options_parse(argc, argv, &page);
    if (ticks) {
        other_threads_share_by_weight();
        rr_threads_take_turns();
        fifo_thread_keeps_the_cpu();
    } else {
        weights_are_kept_and_checked();
        weight_is_inherited();
    }
    return 0;
}
