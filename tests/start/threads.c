/* SPDX-License-Identifier: MIT */
/*
 * threads.c - a program that is linked with early.c: checks that its threads behave as the C
 * library's, after a constructor that came first. Each has variables of its own, and one that
 * computes does not keep the others from running. Prints "done".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define ROUNDS 500

int early_holds(void);

static __thread long own = -1;
static __thread char text[32];
static long wrong;
static pthread_barrier_t barrier;
static volatile int go_on;

static void *reader(void *arg)
{
    long me = (long)arg, seen = 0;
    char expected[32];
    snprintf(expected, sizeof(expected), "thread %ld", me);
    seen += own != -1;
    own = me;
    strcpy(text, expected);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        void *volatile memory = malloc((size_t)i + 1);
        free(realloc(memory, (size_t)i + 1000));
        seen += own != me || strcmp(text, expected) != 0;
        sched_yield();
    }
    __atomic_add_fetch(&wrong, seen, __ATOMIC_RELAXED);
    return NULL;
}

/* Without a call, so it ends only if the other one runs, too. */
static void *computes(void *unused)
{
    while (!go_on) {
    }
    return unused;
}

static void *frees(void *unused)
{
    go_on = 1;
    return unused;
}

int main(void)
{
    pthread_t t[THREADS];
    void *volatile memory = malloc(1);
    free(memory);
    if (early_holds() != 0) {
        return 1;
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, reader, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    if (wrong != 0 || own != -1) {
        printf("%ld of %d reads of a __thread variable are wrong\n", wrong, THREADS * ROUNDS);
        return 1;
    }
    pthread_create(&t[0], NULL, computes, NULL);
    pthread_create(&t[1], NULL, frees, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    puts("done");
    return 0;
}
