/* SPDX-License-Identifier: MIT */
/*
 * frames.c - for check_frames.py: threads that spend their time in `spins`, which calls nothing,
 * and in `counts`, which calls another function; below both are `inner`, `outer` and `works`.
 * Compiled with frame pointers and not instrumented. Prints "done".
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define SEPARATE __attribute__((noinline, noclone))
#define THREADS 4
#define SECONDS 0.2

static volatile unsigned long sink;

SEPARATE static void spins(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        sink = i;
    }
}

SEPARATE static void nothing(unsigned long i)
{
    __asm__ volatile("" ::"r"(i));
}

SEPARATE static void counts(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        nothing(i);
    }
}

SEPARATE static void inner(unsigned long n)
{
    spins(n);
    counts(n);
}

SEPARATE static void outer(unsigned long n)
{
    inner(n);
    inner(n);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *works(void *arg)
{
    double end = seconds() + SECONDS;
    while (seconds() < end) {
        outer(10000);
    }
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, works, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    puts("done");
    return 0;
}
