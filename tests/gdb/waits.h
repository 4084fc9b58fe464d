/* SPDX-License-Identifier: MIT */
/*
 * waits.h - threads of the programs for gdb (states.c, here and in tests/board/gdb): each waits in
 * the way that its name says.
 */
#ifndef PIRN_TESTS_GDB_WAITS_H
#define PIRN_TESTS_GDB_WAITS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_t sleeper;
static unsigned begun; /* threads that do only what their names say from now on */

static void name(const char *text)
{
    if (pthread_setname_np(pthread_self(), text) != 0) {
        abort();
    }
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static int inner(int depth, int marker)
{
    volatile int local = marker + depth;
    if (depth == 0) {
        sem_wait(&sem);
    } else {
        inner(depth - 1, marker);
    }
    return local;
}

static void *on_sem(void *arg)
{
    name("on-sem");
    inner(3, 4200);
    return arg;
}

static void *on_cond(void *arg)
{
    name("on-cond");
    pthread_mutex_lock(&cond_mutex);
    pthread_cond_wait(&cond, &cond_mutex);
    return arg;
}

static void *on_rwlock(void *arg)
{
    name("on-rwlock");
    pthread_rwlock_rdlock(&rwlock);
    return arg;
}

static void *on_barrier(void *arg)
{
    name("on-barrier");
    pthread_barrier_wait(&barrier);
    return arg;
}

/* It is there for as long as gdb is. */
static void *on_sleep(void *arg)
{
    name("on-sleep");
    sleep(100000);
    return arg;
}

static void *on_join(void *arg)
{
    name("on-join");
    pthread_join(sleeper, NULL);
    return arg;
}

static void *never_ran(void *arg)
{
    return arg;
}

static pthread_t start(void *(*fn)(void *))
{
    pthread_t t;
    if (pthread_create(&t, NULL, fn, NULL) != 0) {
        abort();
    }
    return t;
}

#endif
