/* SPDX-License-Identifier: MIT */
/*
 * demand.c - what threads demand, and the end of a job: pthread_setdemand_np, pthread_getdemand_np
 * and pthread_job_wait_np of <pirn/pthread_np.h>. The C library has none of them, so its program
 * has no cases. What the policies gate and groups make of demands is tested by suite demand.
 */
#include "harness.h"

#ifdef ON_PIRN
#include <pirn/pthread_np.h>
#include <string.h>

enum { MS = 1000000 };

static flag_t go;

static void *waits(void *flag)
{
    flag_wait(flag, 1);
    return NULL;
}

CASE(is_kept)
{
    struct pthread_demand_np got;
    struct pthread_demand_np demand = {
        .period_ns = 5 * MS, .cost_ns = MS, .working_set = 4096, .group = 2};
    pthread_t t = start(waits, &go);
    OK(pthread_getdemand_np(t, &got));
    CHECK(got.period_ns == 0 && got.cost_ns == 0 && got.working_set == 0 && got.group == 0);
    OK(pthread_setdemand_np(t, &demand));
    OK(pthread_getdemand_np(t, &got));
    CHECK(got.period_ns == demand.period_ns && got.cost_ns == demand.cost_ns &&
          got.working_set == demand.working_set && got.group == demand.group);
    OK(pthread_getdemand_np(pthread_self(), &got));
    CHECK(got.period_ns == 0);
    flag_set(&go, 1);
    join(t);
}

CASE(is_einval_for_bad_values)
{
    struct pthread_demand_np demand = {.period_ns = MS, .cost_ns = MS + 1};
    CHECK_EQ(pthread_setdemand_np(pthread_self(), &demand), EINVAL);
    demand = (struct pthread_demand_np){.period_ns = UINT64_MAX};
    CHECK_EQ(pthread_setdemand_np(pthread_self(), &demand), EINVAL);
    CHECK_EQ(pthread_setdemand_np(pthread_self(), NULL), EINVAL);
    CHECK_EQ(pthread_getdemand_np(pthread_self(), NULL), EINVAL);
}

CASE(is_esrch_when_there_is_no_thread)
{
    struct pthread_demand_np demand = {.group = 1};
    pthread_t none = 0;
    CHECK_EQ(pthread_setdemand_np(none, &demand), ESRCH);
    CHECK_EQ(pthread_getdemand_np(none, &demand), ESRCH);
}

CASE(is_esrch_when_the_thread_has_ended)
{
    static flag_t ends;
    struct pthread_demand_np demand = {.group = 1};
    pthread_t t = start(waits, &ends);
    int error;
    flag_set(&ends, 1);
    while ((error = pthread_getdemand_np(t, &demand)) == 0) {
        give_way();
    }
    CHECK_EQ(error, ESRCH);
    CHECK_EQ(pthread_setdemand_np(t, &demand), ESRCH);
    join(t);
}

CASE(job_wait_is_einval_without_a_period)
{
    unsigned missed = 7;
    CHECK_EQ(pthread_job_wait_np(&missed), EINVAL);
    CHECK_EQ(missed, 7);
}

CASE(job_waits_for_its_release)
{
    struct timespec before, after;
    struct pthread_demand_np demand = {.period_ns = 20 * MS};
    unsigned missed = 7;
    OK(clock_gettime(CLOCK_MONOTONIC, &before));
    OK(pthread_setdemand_np(pthread_self(), &demand));
    OK(pthread_job_wait_np(&missed));
    OK(clock_gettime(CLOCK_MONOTONIC, &after));
    int64_t ns = (after.tv_sec - before.tv_sec) * (int64_t)1000 * MS;
    CHECK(ns + after.tv_nsec - before.tv_nsec >= 20 * MS);
    OK(pthread_job_wait_np(NULL));
}

CASE(late_jobs_are_counted)
{
    struct timespec time = {.tv_nsec = 7 * MS};
    struct pthread_demand_np demand = {.period_ns = 2 * MS};
    unsigned missed = 0, next;
    OK(pthread_setdemand_np(pthread_self(), &demand));
    OK(nanosleep(&time, NULL));
    OK(pthread_job_wait_np(&missed));
    CHECK(missed >= 3);
    OK(pthread_job_wait_np(&next));
    CHECK(next >= missed - 1);
}

static void *waits_for_its_job(void *arg)
{
    struct pthread_demand_np demand = {.period_ns = (uint64_t)3600 * 1000 * MS};
    OK(pthread_setdemand_np(pthread_self(), &demand));
    flag_set(arg, 1);
    pthread_job_wait_np(NULL);
    return NULL;
}

CASE(job_wait_is_a_cancellation_point)
{
    static flag_t waiting;
    void *ret;
    pthread_t t = start(waits_for_its_job, &waiting);
    flag_wait(&waiting, 1);
    OK(pthread_cancel(t));
    OK(pthread_join(t, &ret));
    CHECK(ret == PTHREAD_CANCELED);
}
#endif
