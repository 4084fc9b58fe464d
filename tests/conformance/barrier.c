/* SPDX-License-Identifier: MIT */
/* barrier.c - barriers: phases, the serial thread, destruction right behind. */
#include "harness.h"

#define THREADS 8
#define PHASES 200

static pthread_barrier_t barrier;
static int phase[THREADS];
static flag_t serials;

static void *walks(void *arg)
{
    int me = (int)(long)arg;
    for (int p = 1; p <= PHASES; p++) {
        __atomic_store_n(&phase[me], p, __ATOMIC_RELAXED);
        int result = pthread_barrier_wait(&barrier);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
            flag_add(&serials, 1);
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK(__atomic_load_n(&phase[i], __ATOMIC_RELAXED) >= p);
        }
    }
    return NULL;
}

CASE(nobody_passes_before_all_have_come)
{
    pthread_t t[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(walks, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&serials), PHASES);
    OK(pthread_barrier_destroy(&barrier));
}

CASE(barrier_of_one_never_waits)
{
    OK(pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    }
    OK(pthread_barrier_destroy(&barrier));
}

static void *waits(void *b)
{
    return (void *)(long)pthread_barrier_wait(b);
}

CASE(destroy_may_follow_the_wait_at_once)
{
    for (int round = 0; round < 200; round++) {
        pthread_barrier_t *b = malloc(sizeof(*b));
        pthread_t t[3];
        long sum = 0;
        OK(pthread_barrier_init(b, NULL, 4));
        for (int i = 0; i < 3; i++) {
            t[i] = start(waits, b);
        }
        sum += pthread_barrier_wait(b);
        OK(pthread_barrier_destroy(b));
        memset(b, 0xee, sizeof(*b));
        for (int i = 0; i < 3; i++) {
            sum += (long)join(t[i]);
        }
        CHECK_EQ(sum, PTHREAD_BARRIER_SERIAL_THREAD);
        free(b);
    }
}

CASE(bad_values_are_refused)
{
    pthread_barrierattr_t a;
    int value;
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
    OK(pthread_barrierattr_init(&a));
    CHECK_EQ(pthread_barrierattr_setpshared(&a, 77), EINVAL);
    OK(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_barrierattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
#ifdef ON_PIRN
    CHECK_EQ(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED), ENOTSUP);
#endif
    OK(pthread_barrier_init(&barrier, &a, 2));
    OK(pthread_barrier_destroy(&barrier));
    OK(pthread_barrierattr_destroy(&a));
}
