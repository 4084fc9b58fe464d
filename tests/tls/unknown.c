/* SPDX-License-Identifier: MIT */
/*
 * unknown.c - a C library of a version that Pirn does not know (the program claims it): threads
 * share thread-local storage, say so once, and go on as the documents promise.
 */
#include "../posix/check.h"

#include <errno.h>

#define THREADS 50

__attribute__((visibility("default"))) const char *gnu_get_libc_version(void)
{
    return "2.99";
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int waiting;

/* A thread may go on on another worker, where errno has another address: each look is a call. */
static __attribute__((noinline)) int errno_now(void)
{
    __asm__ volatile("");
    return errno;
}

/* errno and the values of keys are the thread's, whatever runs between. */
static void *waits(void *arg)
{
    errno = 1 + (int)(long)arg;
    OK(pthread_setspecific(key, arg));
    pthread_mutex_lock(&mutex);
    if (++waiting == THREADS) {
        pthread_cond_broadcast(&cond);
    }
    while (waiting < THREADS) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 20; i++) {
        sched_yield();
        CHECK_EQ(errno_now(), 1 + (int)(long)arg);
        CHECK(pthread_getspecific(key) == arg);
        CHECK(pthread_equal(pthread_self(), pthread_self()));
    }
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];
    OK(pthread_key_create(&key, NULL));
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(waits, (void *)i);
    }
    for (long i = 0; i < THREADS; i++) {
        CHECK_EQ(join(t[i]), i);
    }
    printf("ok %d threads\n", THREADS);
    return 0;
}
