/* SPDX-License-Identifier: MIT */
/* sem.c - semaphores: counting, blocking, time-outs, limits. */
#include <fcntl.h>
#include <semaphore.h>

#include "check.h"

#define THREADS 8
#define ROUNDS 500

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

static void test_units_are_neither_lost_nor_doubled(void)
{
    pthread_t t[THREADS];
    int value;
    OK(sem_init(&items, 0, 0));
    OK(sem_init(&room, 0, 3));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(i % 2 ? produces : consumes, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&consumed), THREADS / 2 * ROUNDS);
    OK(sem_getvalue(&room, &value));
    CHECK_EQ(value, 3);
    OK(sem_getvalue(&items, &value));
    CHECK_EQ(value, 0);
    OK(sem_destroy(&items));
    OK(sem_destroy(&room));
}

static void test_trywait_returns_eagain_when_empty(void)
{
    sem_t s;
    OK(sem_init(&s, 0, 1));
    OK(sem_trywait(&s));
    FAILS(sem_trywait(&s), EAGAIN);
    OK(sem_post(&s));
    OK(sem_trywait(&s));
    OK(sem_destroy(&s));
}

static void test_timedwait_times_out_when_empty(void)
{
    sem_t s;
    OK(sem_init(&s, 0, 0));
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    FAILS(sem_timedwait(&s, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    FAILS(sem_clockwait(&s, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = (struct timespec){.tv_sec = 1};
    FAILS(sem_timedwait(&s, &at), ETIMEDOUT);
    at.tv_nsec = NS_PER_S;
    FAILS(sem_timedwait(&s, &at), EINVAL);
    FAILS(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    OK(sem_post(&s));
    at = (struct timespec){.tv_sec = 1};
    OK(sem_timedwait(&s, &at));
    OK(sem_destroy(&s));
}

static sem_t shared;
static flag_t waiting;

static void *waits_timed(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    flag_add(&waiting, 1);
    OK(sem_timedwait(&shared, &at));
    return arg;
}

static void test_timedwait_gets_a_unit_in_time(void)
{
    OK(sem_init(&shared, 0, 0));
    pthread_t t = start(waits_timed, NULL);
    flag_wait(&waiting, 1);
    give_way();
    OK(sem_post(&shared));
    join(t);
    OK(sem_destroy(&shared));
}

static void *times_out_often(void *arg)
{
    long got = 0;
    for (int i = 0; i < 100; i++) {
        struct timespec at = after_ms(CLOCK_MONOTONIC, i % 2);
        got += sem_clockwait(&shared, CLOCK_MONOTONIC, &at) == 0;
    }
    (void)arg;
    return (void *)got;
}

/* A unit posted while a wait times out goes to the waiter or stays, never both and never neither.
 */
static void test_units_survive_racing_timeouts(void)
{
    pthread_t t[THREADS];
    long got = 0;
    int value;
    OK(sem_init(&shared, 0, 0));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(times_out_often, NULL);
    }
    for (int i = 0; i < 200; i++) {
        OK(sem_post(&shared));
        usleep(100);
    }
    for (int i = 0; i < THREADS; i++) {
        got += (long)join(t[i]);
    }
    OK(sem_getvalue(&shared, &value));
    CHECK_EQ(got + value, 200);
    OK(sem_destroy(&shared));
}

static void test_limits(void)
{
    sem_t s;
    FAILS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    OK(sem_init(&s, 0, SEM_VALUE_MAX));
    FAILS(sem_post(&s), EOVERFLOW);
    OK(sem_destroy(&s));
}

#ifdef ON_PIRN
static void test_what_is_not_there_is_refused(void)
{
    sem_t s;
    FAILS(sem_init(&s, 1, 0), ENOTSUP);
    CHECK(sem_open("/pirn-test", O_CREAT, 0600, 0) == SEM_FAILED);
    CHECK_EQ(get_errno(), ENOSYS);
}
#else
static void test_what_is_not_there_is_refused(void) {}
#endif

int main(void)
{
    RUN(test_units_are_neither_lost_nor_doubled);
    RUN(test_trywait_returns_eagain_when_empty);
    RUN(test_timedwait_times_out_when_empty);
    RUN(test_timedwait_gets_a_unit_in_time);
    RUN(test_units_survive_racing_timeouts);
    RUN(test_limits);
    RUN(test_what_is_not_there_is_refused);
    return 0;
}
