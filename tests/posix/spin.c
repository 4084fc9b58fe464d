/* SPDX-License-Identifier: MIT */
/* spin.c - spin locks, also where the holder waits for the spinner's CPU. */
#include "check.h"

#define THREADS 4
#define ROUNDS 2000

static pthread_spinlock_t lock;
static long counter;

static void *counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_spin_lock(&lock));
        long seen = counter;
        if (i % 64 == 0) {
            sched_yield(); /* the holder goes behind those that spin */
        }
        counter = seen + 1;
        OK(pthread_spin_unlock(&lock));
    }
    return arg;
}

static void test_excludes_even_when_the_holder_yields(void)
{
    pthread_t t[THREADS];
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(counts, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(counter, THREADS * ROUNDS);
    OK(pthread_spin_destroy(&lock));
}

static void test_trylock_returns_ebusy_when_held(void)
{
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_SHARED));
    OK(pthread_spin_trylock(&lock));
    CHECK_EQ(pthread_spin_trylock(&lock), EBUSY);
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_trylock(&lock));
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_destroy(&lock));
}

int main(void)
{
    RUN(test_excludes_even_when_the_holder_yields);
    RUN(test_trylock_returns_ebusy_when_held);
    return 0;
}
