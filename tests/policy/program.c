/* SPDX-License-Identifier: MIT */
/*
 * program.c - a program that brings its own organization: registers it, asks for it, uses threads.
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#include "example.h"

enum { THREADS = 64, ROUNDS = 100 };

static void *work(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
        pirn_yield();
    }
    return NULL;
}

int main(void)
{
    pirn_thread_t t[THREADS];
    int sum = 0;
    if (sched_register(&sched_home) != 0 || setenv("PIRN_SCHED", sched_home.name, 1) != 0) {
        fprintf(stderr, "cannot register the organization\n");
        return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        if (pirn_create(&t[i], NULL, work, &sum) != 0) {
            fprintf(stderr, "cannot create thread %d\n", i);
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pirn_join(t[i], NULL);
    }
    printf("%d rounds on %u CPUs under \"%s\"\n", sum, pirn_cpu_count(), sched_home.name);
    return sum == THREADS * ROUNDS ? 0 : 1;
}
