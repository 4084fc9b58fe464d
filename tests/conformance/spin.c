/* SPDX-License-Identifier: MIT */
/* spin.c - spin locks, also where the holder waits for the spinner's CPU. */
#include "harness.h"

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
            sched_yield(); /* the holder goes behind the spinning threads */
        }
        counter = seen + 1;
        OK(pthread_spin_unlock(&lock));
    }
    return arg;
}

CASE(excludes_even_when_the_holder_yields)
{
    pthread_t t[THREADS];
    memset((void *)&lock, 0xa5, sizeof(lock));
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

CASE(trylock_is_ebusy_when_held)
{
    static const int shared[] = {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED};
    for (size_t i = 0; i < COUNT(shared); i++) {
        OK(pthread_spin_init(&lock, shared[i]));
        OK(pthread_spin_trylock(&lock));
        CHECK_EQ(pthread_spin_trylock(&lock), EBUSY);
        OK(pthread_spin_unlock(&lock));
        OK(pthread_spin_trylock(&lock));
        OK(pthread_spin_unlock(&lock));
        OK(pthread_spin_destroy(&lock));
    }
}

static flag_t held;

static void *holds_over_a_sleep(void *arg)
{
    OK(pthread_spin_lock(&lock));
    flag_set(&held, 1);
    usleep(2000);
    counter = 7;
    OK(pthread_spin_unlock(&lock));
    return arg;
}

CASE(lock_waits_for_a_holder_that_sleeps)
{
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    pthread_t t = start(holds_over_a_sleep, NULL);
    flag_wait(&held, 1);
    OK(pthread_spin_lock(&lock));
    CHECK_EQ(counter, 7);
    OK(pthread_spin_unlock(&lock));
    join(t);
    OK(pthread_spin_destroy(&lock));
}

CASE(init_works_again_after_destroy)
{
    for (int i = 0; i < 3; i++) {
        OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
        OK(pthread_spin_lock(&lock));
        OK(pthread_spin_unlock(&lock));
        OK(pthread_spin_destroy(&lock));
    }
}
