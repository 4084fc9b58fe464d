/* SPDX-License-Identifier: MIT */
/* once.c - pthread_once. */
#include "harness.h"

#define THREADS 16

static pthread_once_t once = PTHREAD_ONCE_INIT, other = PTHREAD_ONCE_INIT;
static int runs, nested_runs;
static bool ready;

static void initialise(void)
{
    runs++;
    give_way();
    ready = true;
}

static void *calls(void *arg)
{
    OK(pthread_once(&once, initialise));
    CHECK(ready);
    return arg;
}

CASE(everybody_waits_for_the_one_run)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(calls, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    OK(pthread_once(&once, initialise));
    CHECK_EQ(runs, 1);
}

static void nests(void)
{
    OK(pthread_once(&once, initialise));
    nested_runs++;
}

CASE(a_function_may_use_another_once)
{
    OK(pthread_once(&other, nests));
    OK(pthread_once(&other, nests));
    CHECK_EQ(runs, 1);
    CHECK_EQ(nested_runs, 1);
}

static pthread_once_t tried = PTHREAD_ONCE_INIT;
static flag_t running, cleaned;
static int tries;

static void first_try_is_cancelled(void)
{
    if (tries++ == 0) {
        flag_set(&running, 1);
        for (;;) {
            pthread_testcancel();
            sched_yield();
        }
    }
}

static void cleans(void *arg)
{
    flag_add((flag_t *)arg, 1);
}

static void *tries_once(void *arg)
{
    pthread_cleanup_push(cleans, &cleaned);
    pthread_once(&tried, first_try_is_cancelled);
    pthread_cleanup_pop(0);
    return arg;
}

/* The program once-plain has no unwind tables, neither for the function nor for its caller. */
CASE(function_that_is_cancelled_has_not_run)
{
    void *ret;
    pthread_t t = start(tries_once, NULL);
    flag_wait(&running, 1);
    OK(pthread_cancel(t));
    OK(pthread_join(t, &ret));
    CHECK(ret == PTHREAD_CANCELED);
    CHECK_EQ(flag_get(&cleaned), 1);
    join(start(tries_once, NULL));
    CHECK_EQ(tries, 2);
}
