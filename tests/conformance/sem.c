/* SPDX-License-Identifier: MIT */
/* sem.c - unnamed semaphores: counting, blocking, time-outs, limits. */
#include "harness.h"

#include <semaphore.h>
#include <sys/mman.h>

#define THREADS 8
#define ROUNDS 500

static sem_t s;

static void init(unsigned value)
{
    memset(&s, 0xa5, sizeof(s));
    OK(sem_init(&s, 0, value));
}

static int value_of(sem_t *sem)
{
    int value = -1;
    OK(sem_getvalue(sem, &value));
    return value;
}

static sem_t items, room;
static flag_t produced, consumed;

static void *produces(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&room));
        flag_add(&produced, 1);
        OK(sem_post(&items));
    }
    return arg;
}

static void *consumes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&items));
        CHECK(flag_add(&consumed, 1) <= flag_get(&produced));
        OK(sem_post(&room));
    }
    return arg;
}

CASE(units_are_neither_lost_nor_doubled)
{
    pthread_t t[THREADS];
    OK(sem_init(&items, 0, 0));
    OK(sem_init(&room, 0, 3));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(i % 2 ? produces : consumes, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&consumed), THREADS / 2 * ROUNDS);
    CHECK_EQ(value_of(&room), 3);
    CHECK_EQ(value_of(&items), 0);
    OK(sem_destroy(&items));
    OK(sem_destroy(&room));
}

CASE(init_sets_the_value)
{
    static const unsigned values[] = {0, 1, 2, 1000, SEM_VALUE_MAX};
    for (size_t i = 0; i < COUNT(values); i++) {
        init(values[i]);
        CHECK_EQ(value_of(&s), values[i]);
        OK(sem_destroy(&s));
    }
}

CASE(init_is_einval_above_the_maximum)
{
    FAILS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    FAILS(sem_init(&s, 0, UINT_MAX), EINVAL);
}

CASE(value_counts_posts_and_waits)
{
    init(2);
    OK(sem_post(&s));
    CHECK_EQ(value_of(&s), 3);
    OK(sem_wait(&s));
    OK(sem_trywait(&s));
    CHECK_EQ(value_of(&s), 1);
    OK(sem_destroy(&s));
}

static flag_t waiting;

static void *waits(void *arg)
{
    flag_add(&waiting, 1);
    OK(sem_wait(&s));
    return arg;
}

/* With waiters the value is 0, or their number below it: POSIX allows both. */
CASE(value_with_waiters)
{
    pthread_t t[3];
    init(0);
    for (int i = 0; i < 3; i++) {
        t[i] = start(waits, NULL);
    }
    flag_wait(&waiting, 3);
    give_way();
    int value = value_of(&s);
    CHECK(value <= 0 && value >= -3);
    for (int i = 0; i < 3; i++) {
        OK(sem_post(&s));
    }
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
    CHECK_EQ(value_of(&s), 0);
}

CASE(post_wakes_one_waiter_each)
{
    pthread_t t[THREADS];
    init(0);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(waits, NULL);
    }
    flag_wait(&waiting, THREADS);
    for (int i = 0; i < THREADS; i++) {
        OK(sem_post(&s));
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    FAILS(sem_trywait(&s), EAGAIN);
}

CASE(trywait_is_eagain_when_empty)
{
    init(1);
    OK(sem_trywait(&s));
    FAILS(sem_trywait(&s), EAGAIN);
    OK(sem_post(&s));
    OK(sem_trywait(&s));
    OK(sem_destroy(&s));
}

CASE(timedwait_is_etimedout_when_empty)
{
    init(0);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    FAILS(sem_timedwait(&s, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = (struct timespec){.tv_sec = 1};
    FAILS(sem_timedwait(&s, &at), ETIMEDOUT);
    OK(sem_post(&s)); /* those that gave up take nothing */
    OK(sem_trywait(&s));
    OK(sem_destroy(&s));
}

CASE(clockwait_is_etimedout_when_empty)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    init(0);
    for (size_t i = 0; i < COUNT(clocks); i++) {
        struct timespec at = after_ms(clocks[i], 5);
        FAILS(sem_clockwait(&s, clocks[i], &at), ETIMEDOUT);
        CHECK(has_passed(clocks[i], &at));
    }
    OK(sem_destroy(&s));
}

CASE(timedwait_is_einval_for_bad_nanoseconds)
{
    init(0);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    at.tv_nsec = NS_PER_S;
    FAILS(sem_timedwait(&s, &at), EINVAL);
    FAILS(sem_clockwait(&s, CLOCK_MONOTONIC, &at), EINVAL);
    at.tv_nsec = -1;
    FAILS(sem_timedwait(&s, &at), EINVAL);
    FAILS(sem_clockwait(&s, CLOCK_MONOTONIC, &at), EINVAL);
    OK(sem_destroy(&s));
}

CASE(clockwait_is_einval_for_other_clocks)
{
    init(0);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    FAILS(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    FAILS(sem_clockwait(&s, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    OK(sem_destroy(&s));
}

CASE(timedwait_does_not_wait_for_a_unit_that_is_there)
{
    struct timespec past = {.tv_sec = 1};
    init(2);
    OK(sem_timedwait(&s, &past));
    OK(sem_clockwait(&s, CLOCK_MONOTONIC, &past));
    OK(sem_destroy(&s));
}

static void *waits_timed(void *clock)
{
    struct timespec at = after_ms(clock != NULL ? CLOCK_MONOTONIC : CLOCK_REALTIME, LONG_MS);
    flag_add(&waiting, 1);
    OK(clock != NULL ? sem_clockwait(&s, CLOCK_MONOTONIC, &at) : sem_timedwait(&s, &at));
    return NULL;
}

CASE(timedwait_gets_a_unit_in_time)
{
    init(0);
    pthread_t t = start(waits_timed, NULL), u = start(waits_timed, &s);
    flag_wait(&waiting, 2);
    give_way();
    OK(sem_post(&s));
    OK(sem_post(&s));
    join(t);
    join(u);
    OK(sem_destroy(&s));
}

static void *times_out_often(void *arg)
{
    long got = 0;
    for (int i = 0; i < 100; i++) {
        struct timespec at = after_ms(CLOCK_MONOTONIC, i % 2);
        got += sem_clockwait(&s, CLOCK_MONOTONIC, &at) == 0;
    }
    (void)arg;
    return (void *)got;
}

/* A unit posted while a wait times out goes to the waiter or stays, never both and never neither.
 */
CASE(units_survive_racing_timeouts)
{
    pthread_t t[THREADS];
    long got = 0;
    init(0);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(times_out_often, NULL);
    }
    for (int i = 0; i < 200; i++) {
        OK(sem_post(&s));
        usleep(100);
    }
    for (int i = 0; i < THREADS; i++) {
        got += (long)join(t[i]);
    }
    CHECK_EQ(got + value_of(&s), 200);
    OK(sem_destroy(&s));
}

CASE(post_is_eoverflow_at_the_maximum)
{
    init(SEM_VALUE_MAX);
    FAILS(sem_post(&s), EOVERFLOW);
    CHECK_EQ(value_of(&s), SEM_VALUE_MAX);
    OK(sem_wait(&s));
    OK(sem_post(&s));
    OK(sem_destroy(&s));
}

static void *waits_and_takes_away(void *sem)
{
    OK(sem_wait(sem));
    OK(sem_destroy(sem));
    OK(munmap(sem, sizeof(sem_t)));
    return NULL;
}

/* The thread that got the unit may destroy it, though the post may not have returned yet. */
CASE(destroy_may_follow_the_wait_at_once)
{
    for (int i = 0; i < 300; i++) {
        sem_t *sem =
            mmap(NULL, sizeof(*sem), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(sem != MAP_FAILED);
        OK(sem_init(sem, 0, 0));
        pthread_t t = start(waits_and_takes_away, sem);
        if (i % 2) {
            give_way();
        }
        OK(sem_post(sem));
        join(t);
    }
}

CASE(init_needs_no_memory)
{
    enum { N = 200000 };
    sem_t *all = malloc(N * sizeof(*all));
    void *before = sbrk(0);
    for (int i = 0; i < N; i++) {
        OK(sem_init(&all[i], 0, 1));
        OK(sem_wait(&all[i]));
    }
    CHECK(sbrk(0) == before);
    free(all);
}

/* Undefined; programs rely on the C library, which returns. */
CASE(destroy_returns_for_a_null_pointer)
{
    sem_t *volatile none = NULL;
    OK(sem_destroy(none));
}
