/* SPDX-License-Identifier: MIT */
/* barrier.c - barriers: phases, the serial thread, reuse, destruction immediately after the
 * wait. */
#include "harness.h"

#include <sys/mman.h>

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
        OK_OR(result, PTHREAD_BARRIER_SERIAL_THREAD);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
            flag_add(&serials, 1);
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK(__atomic_load_n(&phase[i], __ATOMIC_RELAXED) >= p);
        }
    }
    return NULL;
}

static void walk(void)
{
    pthread_t t[THREADS];
    memset(phase, 0, sizeof(phase));
    flag_set(&serials, 0);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(walks, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&serials), PHASES);
}

CASE(nobody_passes_before_all_have_come)
{
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    walk();
    OK(pthread_barrier_destroy(&barrier));
}

CASE(init_works_again_after_destroy)
{
    for (int i = 0; i < 3; i++) {
        memset(&barrier, 0xa5, sizeof(barrier));
        OK(pthread_barrier_init(&barrier, NULL, THREADS));
        walk();
        OK(pthread_barrier_destroy(&barrier));
    }
}

CASE(a_barrier_of_one_never_waits)
{
    OK(pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    }
    OK(pthread_barrier_destroy(&barrier));
}

static flag_t serial, arrived;

static void *waits_once(void *arg)
{
    flag_add(&arrived, 1);
    long result = pthread_barrier_wait(&barrier);
    OK_OR(result, PTHREAD_BARRIER_SERIAL_THREAD);
    flag_add(&serial, result == PTHREAD_BARRIER_SERIAL_THREAD);
    return arg;
}

CASE(exactly_one_thread_is_the_serial_one)
{
    for (unsigned n = 2; n <= 10; n++) {
        pthread_t t[10];
        flag_set(&serial, 0);
        OK(pthread_barrier_init(&barrier, NULL, n));
        for (unsigned i = 0; i < n; i++) {
            t[i] = start(waits_once, NULL);
        }
        for (unsigned i = 0; i < n; i++) {
            join(t[i]);
        }
        CHECK_EQ(flag_get(&serial), 1);
        OK(pthread_barrier_destroy(&barrier));
    }
}

CASE(those_that_came_wait_for_the_last)
{
    pthread_t t[3];
    OK(pthread_barrier_init(&barrier, NULL, 4));
    for (int i = 0; i < 3; i++) {
        t[i] = start(waits_once, NULL);
    }
    flag_wait(&arrived, 3);
    give_way();
    CHECK_EQ(pthread_tryjoin_np(t[0], NULL), EBUSY);
    waits_once(NULL);
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&serial), 1);
}

static void *waits(void *b)
{
    return (void *)(long)pthread_barrier_wait(b);
}

CASE(destroy_may_follow_the_wait_at_once)
{
    for (int round = 0; round < 200; round++) {
        pthread_barrier_t *b =
            mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t t[3];
        long sum = 0;
        CHECK(b != MAP_FAILED);
        OK(pthread_barrier_init(b, NULL, 4));
        for (int i = 0; i < 3; i++) {
            t[i] = start(waits, b);
        }
        sum += pthread_barrier_wait(b);
        OK(pthread_barrier_destroy(b)); /* waits for those that have not left yet */
        OK(munmap(b, sizeof(*b)));
        for (int i = 0; i < 3; i++) {
            sum += (long)join(t[i]);
        }
        CHECK_EQ(sum, PTHREAD_BARRIER_SERIAL_THREAD);
    }
}

CASE(init_is_einval_for_no_threads)
{
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
}

CASE(attr_init_sets_defaults)
{
    pthread_barrierattr_t a;
    int value;
    memset(&a, 0xa5, sizeof(a));
    OK(pthread_barrierattr_init(&a));
    OK(pthread_barrierattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_barrier_init(&barrier, &a, 1));
    OK(pthread_barrierattr_destroy(&a));
    CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_barrier_destroy(&barrier));
}

CASE(attr_pshared_is_kept)
{
    pthread_barrierattr_t a;
    int value;
    OK(pthread_barrierattr_init(&a));
    OK(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrierattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_barrierattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_barrierattr_destroy(&a));
}

CASE(attr_pshared_is_einval_for_other_values)
{
    pthread_barrierattr_t a;
    OK(pthread_barrierattr_init(&a));
    CHECK_EQ(pthread_barrierattr_setpshared(&a, 77), EINVAL);
    CHECK_EQ(pthread_barrierattr_setpshared(&a, -1), EINVAL);
    OK(pthread_barrierattr_destroy(&a));
}
