/* SPDX-License-Identifier: MIT */
/*
 * program.c - a program that brings its own policy. It registers the policy, chooses it unless
 * PIRN_SCHED does, and puts it under load: threads that create threads, pass a token round by
 * semaphores, sleep, and compete for a mutex, and kernel threads that are no workers and do the
 * same.
 *
 *     PIRN_SCHED=home:start=turn PIRN_CPUS=4 pirn-policy-example
 */
#include "example.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RING = 64, LAPS = 20, SLEEPERS = 100, WORKERS = 200, ADDS = 50, FOREIGN = 4 };

static pirn_mutex_t lock = PIRN_MUTEX_INIT;
static long sum; /* (lock) */

static void need(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: error %d\n", what, -error);
        exit(1);
    }
}

struct place {
    pirn_sem_t mine, *next;
};

static void *passes_on(void *arg)
{
    struct place *place = arg;
    for (int i = 0; i < LAPS; i++) {
        pirn_sem_wait(&place->mine);
        need(pirn_sem_post(place->next), "pirn_sem_post");
    }
    return NULL;
}

static void *sleeps(void *arg)
{
    pirn_sleep((uintptr_t)arg * 10000);
    return arg;
}

static void *adds(void *arg)
{
    for (int i = 0; i < ADDS; i++) {
        pirn_mutex_lock(&lock);
        sum++;
        if (i % 8 == 0) {
            pirn_yield(); /* with the mutex: the others have to wait */
        }
        pirn_mutex_unlock(&lock);
    }
    return arg;
}

/* One of `n` threads that run fn(args[0]) to fn(args[n - 1]). */
static void run(void *(*fn)(void *), void *const *args, int n)
{
    pirn_thread_t t[WORKERS];
    for (int i = 0; i < n; i++) {
        need(pirn_create(&t[i], NULL, fn, args[i]), "pirn_create");
    }
    for (int i = 0; i < n; i++) {
        need(pirn_join(t[i], NULL), "pirn_join");
    }
}

static pirn_sem_t done = PIRN_SEM_INIT(0);

/* All of it once; from a user thread or from a kernel thread. */
static void *everything(void *arg)
{
    struct place places[RING];
    void *args[WORKERS];
    for (int i = 0; i < RING; i++) {
        places[i].next = &places[(i + 1) % RING].mine;
        need(pirn_sem_init(&places[i].mine, i % 16 == 0), "pirn_sem_init");
        args[i] = &places[i];
    }
    run(passes_on, args, RING);
    for (uintptr_t i = 0; i < WORKERS; i++) {
        args[i] = (void *)(i % 10);
    }
    run(sleeps, args, SLEEPERS);
    run(adds, args, WORKERS);
    need(pirn_sem_post(&done), "pirn_sem_post");
    return arg;
}

int main(void)
{
    pthread_t foreign[FOREIGN];
    void *again[2] = {NULL, NULL};
    if (pirn_sched_register(&example_home) != 0) {
        fprintf(stderr, "%s\n", pirn_sched_refusal());
        return 1;
    }
    setenv("PIRN_SCHED", example_home.name, 0);
    for (int i = 0; i < FOREIGN; i++) {
        need(-pthread_create(&foreign[i], NULL, everything, NULL), "pthread_create");
    }
    run(everything, again, 2);
    for (int i = 0; i < FOREIGN + 2; i++) {
        pirn_sem_wait(&done); /* pthread_join would block this worker, and the timers on it */
    }
    for (int i = 0; i < FOREIGN; i++) {
        need(-pthread_join(foreign[i], NULL), "pthread_join");
    }
    printf("%ld additions on %u CPUs under %s\n", sum, pirn_cpu_count(), getenv("PIRN_SCHED"));
    return sum == (FOREIGN + 2) * WORKERS * ADDS ? 0 : 1;
}
