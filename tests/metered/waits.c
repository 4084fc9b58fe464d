/* SPDX-License-Identifier: MIT
 *
 * For check.py, under the metered library: a program that spends its time in one known way.
 *
 *   yield    two threads yield to each other, 20,000 times each
 *   sleep    main sleeps for 300 ms; no thread has work
 *   call     main waits for a process that takes 300 ms, in a system call
 *   compute  main computes for 300 ms
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/options.h"

static void *yields(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        sched_yield();
    }
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void two_threads(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t a, b;
    if (pthread_create(&a, NULL, first, NULL) != 0 || pthread_create(&b, NULL, second, NULL) != 0 ||
        pthread_join(a, NULL) != 0 || pthread_join(b, NULL) != 0) {
        fprintf(stderr, "no threads\n");
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void yield_twice(void)
{
    two_threads(yields, yields);
}

static void sleep_once(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void call(void)
{
    if (system("exec sleep 0.3") != 0) {
        fprintf(stderr, "no program \"sleep\"\n");
        exit(1);
    }
}

static void compute(void)
{
    for (double end = now() + 0.3; now() < end;) {
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"yield", yield_twice}, {"sleep", sleep_once}, {"call", call}, {"compute", compute}};

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "The waits that the meter counts, one kind a run.", cases);
    two_threads(nothing, nothing); /* the runtime has started */
    cases[i].run();
    return 0;
}
