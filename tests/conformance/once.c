/* SPDX-License-Identifier: MIT */
/* once.c - pthread_once. */
#include "harness.h"

#define THREADS 16

static pthread_once_t once = PTHREAD_ONCE_INIT, other = PTHREAD_ONCE_INIT;
static int runs;
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
    runs++;
}

CASE(a_function_may_use_another_once)
{
    OK(pthread_once(&other, nests));
    OK(pthread_once(&other, nests));
    CHECK_EQ(runs, 2);
}
