/* SPDX-License-Identifier: MIT */
/*
 * waits.c - a pthread program that waits a known number of times, for check.py. On one CPU, without
 * ticks.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../raw.h"

#define SEPARATE __attribute__((noinline))
#define ROUNDS 100000

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t there, back;
static int ends[2];

static void must(bool true_, const char *what)
{
    if (!true_) {
        fprintf(stderr, "waits: %s\n", what);
        exit(1);
    }
}

SEPARATE static void blocks_silently(void)
{
    char byte;
    must(raw_call(SYS_read, ends[0], (long)&byte, 1, 0) == 1, "read");
}

SEPARATE static void reads(void)
{
    char byte;
    must(read(ends[0], &byte, 1) == 1, "read");
}

SEPARATE static void looks_up(void)
{
    must(pthread_rwlock_rdlock(&table) == 0, "rdlock");
    must(pthread_rwlock_unlock(&table) == 0, "unlock");
}

static void *waits(void *arg)
{
    void (*const waits_in)(void) = arg;
    waits_in();
    return NULL;
}

static pthread_t start(void (*waits_in)(void))
{
    pthread_t t;
    must(pthread_create(&t, NULL, waits, (void *)waits_in) == 0, "pthread_create");
    return t;
}

SEPARATE static void each(void)
{
    must(pthread_rwlock_wrlock(&table) == 0, "wrlock");
    pthread_t reader[] = {start(looks_up), start(looks_up), start(looks_up)};
    sched_yield(); /* behind them; those that block silently have lost the CPU by then */
    must(pthread_rwlock_unlock(&table) == 0, "unlock");
    for (int i = 0; i < 3; i++) {
        pthread_join(reader[i], NULL);
    }
    pthread_t t = start(reads);
    sched_yield();
    must(write(ends[1], "", 1) == 1, "write");
    pthread_join(t, NULL);
    t = start(blocks_silently);
    sched_yield();
    must(write(ends[1], "", 1) == 1, "write");
    pthread_join(t, NULL);
}

static void *answers(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&there);
        sem_post(&back);
    }
    return arg;
}

static void many(void)
{
    pthread_t t;
    must(pthread_create(&t, NULL, answers, NULL) == 0, "pthread_create");
    for (int i = 0; i < ROUNDS; i++) {
        sem_post(&there);
        sem_wait(&back);
    }
    pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
    must(pipe(ends) == 0 && sem_init(&there, 0, 0) == 0 && sem_init(&back, 0, 0) == 0, "begin");
    if (argc > 1 && strcmp(argv[1], "many") == 0) {
        many();
    } else {
        each();
    }
    return 0;
}
