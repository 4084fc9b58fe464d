/* SPDX-License-Identifier: MIT */
/*
 * fork_join.c - threads that only compute, in cycles of the chip: what CPUs of different speeds
 * make of few long threads and of many short ones.
 *
 *     fork_join --threads N --work N --rounds N
 *
 * In each round the main thread creates the threads and joins them. A thread does `work` steps in
 * registers, so its time is that of its CPU, and not of memory. The checksum is of all threads'
 * results: the same in every run with the same options.
 *
 * A thread that does nothing is created and joined before the clock starts: the first one takes
 * 190,000 cycles more than later ones.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../apps/common/options.h"

enum { THREADS_MAX = 1000 };

static long nthreads = 4, work = 10000, rounds = 1;
static pthread_t threads[THREADS_MAX];
static uint32_t results[THREADS_MAX];

/* Marsaglia's xorshift. */
static uint32_t steps(uint32_t x, long n)
{
    for (long i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

static void *computes(void *arg)
{
    uint32_t *result = arg;
    *result = steps(*result, work);
    return NULL;
}

static void *ends(void *arg)
{
    (void)arg;
    return NULL;
}

static uint32_t cycles(void)
{
    uint32_t now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return now;
}

static void fails(const char *what, int error)
{
    printf("FAILED %s: error %d\n", what, error);
    exit(1);
}

static void one_round(void *(*fn)(void *result), long n)
{
    for (long i = 0; i < n; i++) {
        int error = pthread_create(&threads[i], NULL, fn, &results[i]);
        if (error != 0) {
            fails("pthread_create", error);
        }
    }
    for (long i = 0; i < n; i++) {
        int error = pthread_join(threads[i], NULL);
        if (error != 0) {
            fails("pthread_join", error);
        }
    }
}

int main(int argc, char **argv)
{
    const struct option_spec table[] = {
        option_number("threads", &nthreads, 1, THREADS_MAX, "threads of a round"),
        option_number("work", &work, 1, 10000000, "steps of each thread"),
        option_number("rounds", &rounds, 1, 10000, "how often they are created and joined"),
        {0}};
    const struct option_page page = {"Measures threads that only compute, in cycles.", NULL, table};
    options_parse(argc, argv, &page);
    for (long i = 0; i < nthreads; i++) {
        results[i] = (uint32_t)i + 1;
    }
    one_round(ends, 1);
    uint32_t start = cycles();
    for (long i = 0; i < rounds; i++) {
        one_round(computes, nthreads);
    }
    uint32_t took = cycles() - start;
    uint32_t sum = 0;
    for (long i = 0; i < nthreads; i++) {
        sum = sum * 31 + results[i];
    }
    printf("cycles=%u checksum=%08x\n", (unsigned)took, (unsigned)sum);
    return 0;
}
