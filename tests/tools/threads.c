/* SPDX-License-Identifier: MIT */
/*
 * threads.c - for tools that look for mistakes: a correct program ("good"), and some with one
 * planted mistake in a thread, each in a function of its name.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

#define THREADS 24
#define ROUNDS 200
#define OWN_STACK (256u << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem;
static long sum;
static volatile char sink;

static void *work(void *arg)
{
    char buffer[2048];
    memset(buffer, (int)(long)arg, sizeof(buffer));
    for (int i = 0; i < ROUNDS; i++) {
        char *p = malloc(64);
        if (p == NULL) {
            abort();
        }
        p[i % 64] = buffer[i];
        pthread_mutex_lock(&lock);
        sum += p[i % 64] != 0;
        pthread_mutex_unlock(&lock);
        if (i % 16 == 0) {
            sched_yield();
        }
        free(p);
    }
    sem_post(&sem);
    return NULL;
}

/* Threads that recycle stacks, and one on a stack of the program's. */
static void good(void)
{
    pthread_attr_t attr;
    void *stack = NULL;
    pthread_t t[THREADS + 1];
    if (posix_memalign(&stack, 4096, OWN_STACK) != 0) {
        abort();
    }
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, OWN_STACK);
    for (int round = 0; round < 2; round++) {
        pthread_create(&t[THREADS], &attr, work, (void *)1);
        for (long i = 0; i < THREADS; i++) {
            pthread_create(&t[i], NULL, work, (void *)(i + 1));
        }
        for (int i = 0; i <= THREADS; i++) {
            sem_wait(&sem);
        }
        for (int i = 0; i <= THREADS; i++) {
            pthread_join(t[i], NULL);
        }
    }
    pthread_attr_destroy(&attr);
    free(stack);
    if (sum != 2L * (THREADS + 1) * ROUNDS) {
        abort();
    }
}

__attribute__((noinline)) static void *heap_overflow(void *arg)
{
    char *p = calloc(10, 1);
    sched_yield();
    sink = p[10];
    free(p);
    return arg;
}

__attribute__((noinline)) static void *uninitialised(void *arg)
{
    volatile char local[16];
    sched_yield();
    if (local[3] != 0) {
        sink = 1;
    }
    return arg;
}

__attribute__((noinline)) static void *leaks(void *arg)
{
    char *volatile p = malloc(4321);
    p = NULL;
    sink = p == NULL;
    return arg;
}

/* At the end of the program only this stack refers to the memory. */
__attribute__((noinline)) static void *keeps(void *arg)
{
    char *volatile p = malloc(1234);
    sem_post(&sem);
    pthread_mutex_lock(&lock);
    sink = p == NULL;
    return arg;
}

/* Ends while one of its threads waits for a mutex. */
static void keep(void)
{
    pthread_t t;
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, keeps, NULL);
    sem_wait(&sem);
    sched_yield();
}

/* `all`: the program's; else `run` is a thread's, of which there are two. */
static const struct {
    const char *name;
    void (*all)(void);
    void *(*run)(void *);
} cases[] = {{"good", good, NULL},
             {"keeps", keep, NULL},
             {"heap_overflow", NULL, heap_overflow},
             {"uninitialised", NULL, uninitialised},
             {"leaks", NULL, leaks}};

static void run_twice(void *(*run)(void *))
{
    pthread_t t[2];
    for (int j = 0; j < 2; j++) {
        pthread_create(&t[j], NULL, run, NULL);
    }
    for (int j = 0; j < 2; j++) {
        pthread_join(t[j], NULL);
    }
}

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "Planted mistakes, for Valgrind.", cases);
    sem_init(&sem, 0, 0);
    if (cases[i].all != NULL) {
        cases[i].all();
    } else {
        run_twice(cases[i].run);
    }
    puts("done");
    return 0;
}
