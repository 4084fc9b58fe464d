/* SPDX-License-Identifier: MIT */
/*
 * mutex_prio.c - mutexes with priority inheritance and with a ceiling, as mutexes: exclusion,
 * types, errors, attributes. What they do to priorities is tested in the simulator (suite sync:
 * prio_, ceiling_).
 */
#include "check.h"

#define THREADS 8
#define ROUNDS 1000

#ifdef ON_PIRN
static const bool on_pirn = true;
#else
static const bool on_pirn = false;
#endif

static void init(pthread_mutex_t *m, int type, int protocol, int ceiling)
{
    pthread_mutexattr_t a;
    int value;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setprotocol(&a, protocol));
    OK(pthread_mutexattr_getprotocol(&a, &value));
    CHECK_EQ(value, protocol);
    OK(pthread_mutexattr_setprioceiling(&a, ceiling));
    OK(pthread_mutexattr_getprioceiling(&a, &value));
    CHECK_EQ(value, ceiling);
    OK(pthread_mutexattr_gettype(&a, &value));
    CHECK_EQ(value, type);
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a));
}

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE,
                            PTHREAD_MUTEX_ADAPTIVE_NP};

/* On NPTL a thread of SCHED_OTHER cannot lock a mutex with a ceiling. */
static void for_all(void (*test)(pthread_mutex_t *m, int type))
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        pthread_mutex_t m;
        init(&m, types[i], PTHREAD_PRIO_INHERIT, 1);
        test(&m, types[i]);
        OK(pthread_mutex_destroy(&m));
        if (on_pirn) {
            init(&m, types[i], PTHREAD_PRIO_PROTECT, 20);
            test(&m, types[i]);
            OK(pthread_mutex_destroy(&m));
        }
    }
}

static pthread_mutex_t *shared;
static long counter;

static void *counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(shared));
        long seen = counter;
        if (i % 16 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        OK(pthread_mutex_unlock(shared));
    }
    return arg;
}

static void excludes(pthread_mutex_t *m, int type)
{
    pthread_t t[THREADS];
    (void)type;
    shared = m;
    counter = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(counts, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(counter, THREADS * ROUNDS);
}

static void test_every_type_excludes(void)
{
    for_all(excludes);
}

static void *unlocks(void *m)
{
    return (void *)(long)pthread_mutex_unlock(m);
}

static void *tries(void *m)
{
    int error = pthread_mutex_trylock(m);
    if (error == 0) {
        OK(pthread_mutex_unlock(m));
    }
    return (void *)(long)error;
}

static void *times_out(void *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_REALTIME, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EINVAL);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    return NULL;
}

static void behaves(pthread_mutex_t *m, int type)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    OK(pthread_mutex_lock(m));
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(m));
        OK(pthread_mutex_trylock(m));
        OK(pthread_mutex_timedlock(m, &at));
        for (int i = 0; i < 3; i++) {
            OK(pthread_mutex_unlock(m));
            CHECK_EQ((long)join(start(tries, m)), EBUSY);
        }
    } else {
        /* POSIX says EBUSY; the C library says EDEADLK for error-checking ones. */
        int error = pthread_mutex_trylock(m);
        CHECK(error == EBUSY || (error == EDEADLK && !on_pirn));
    }
    if (type == PTHREAD_MUTEX_ERRORCHECK) {
        CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
        CHECK_EQ(pthread_mutex_timedlock(m, &at), EDEADLK);
    }
    CHECK_EQ((long)join(start(tries, m)), EBUSY);
    CHECK_EQ((long)join(start(unlocks, m)), EPERM);
    join(start(times_out, m));
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    OK(pthread_mutex_unlock(m));
    OK((long)join(start(tries, m)));
    CHECK_EQ(pthread_mutex_consistent(m), EINVAL);
}

static void test_every_type_behaves(void)
{
    for_all(behaves);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *takes_turns(void *arg)
{
    int me = (int)(long)arg;
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(shared));
        while (turn % THREADS != me) {
            OK(pthread_cond_wait(&cond, shared));
        }
        turn++;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(shared));
    }
    return NULL;
}

static void serves_conditions(pthread_mutex_t *m, int type)
{
    pthread_t t[THREADS];
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    (void)type;
    shared = m;
    turn = 0;
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(takes_turns, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(turn, THREADS * 100);
    OK(pthread_mutex_lock(m));
    CHECK_EQ(pthread_cond_timedwait(&cond, m, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(m));
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
}

static void test_every_type_serves_conditions(void)
{
    for_all(serves_conditions);
}

static void test_ceiling_is_told_and_changed(void)
{
    pthread_mutex_t m, other = PTHREAD_MUTEX_INITIALIZER;
    int value = -1;
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 20);
    OK(pthread_mutex_getprioceiling(&m, &value));
    CHECK_EQ(value, 20);
    CHECK_EQ(pthread_mutex_getprioceiling(&other, &value), EINVAL);
    CHECK_EQ(pthread_mutex_setprioceiling(&other, 20, &value), EINVAL);
    OK(pthread_mutex_setprioceiling(&m, 30, &value));
    CHECK_EQ(value, 20);
    OK(pthread_mutex_setprioceiling(&m, 40, &value));
    OK(pthread_mutex_getprioceiling(&m, &value));
    CHECK_EQ(value, 40);
    CHECK_EQ(pthread_mutex_setprioceiling(&m, sched_get_priority_max(SCHED_FIFO) + 1, &value),
             EINVAL);
    CHECK_EQ(pthread_mutex_setprioceiling(&m, sched_get_priority_min(SCHED_FIFO) - 1, &value),
             EINVAL);
    OK(pthread_mutex_getprioceiling(&m, &value));
    CHECK_EQ(value, 40);
    OK(pthread_mutex_destroy(&m));
    if (on_pirn) {
        init(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_PROTECT, 20);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(pthread_mutex_setprioceiling(&m, 30, &value), EDEADLK);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
        init(&m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_PROTECT, 20);
        OK(pthread_mutex_lock(&m));
        OK(pthread_mutex_setprioceiling(&m, 30, &value));
        CHECK_EQ((long)join(start(tries, &m)), EBUSY);
        OK(pthread_mutex_unlock(&m));
        OK((long)join(start(tries, &m)));
        OK(pthread_mutex_destroy(&m));
    }
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 20);
    CHECK_EQ(pthread_mutex_getprioceiling(&m, &value), EINVAL);
    OK(pthread_mutex_destroy(&m));
}

static void test_attributes_are_validated(void)
{
    pthread_mutexattr_t a;
    int value = -1;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_getprioceiling(&a, &value));
    CHECK_EQ(value, sched_get_priority_min(SCHED_FIFO));
    CHECK_EQ(pthread_mutexattr_setprioceiling(&a, sched_get_priority_min(SCHED_FIFO) - 1), EINVAL);
    CHECK_EQ(pthread_mutexattr_setprioceiling(&a, sched_get_priority_max(SCHED_FIFO) + 1), EINVAL);
    CHECK_EQ(pthread_mutexattr_setprotocol(&a, 77), EINVAL);
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE));
    OK(pthread_mutexattr_getprotocol(&a, &value));
    CHECK_EQ(value, PTHREAD_PRIO_NONE);
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_gettype(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutexattr_destroy(&a));
}

int main(void)
{
    RUN(test_every_type_excludes);
    RUN(test_every_type_behaves);
    RUN(test_every_type_serves_conditions);
    RUN(test_ceiling_is_told_and_changed);
    RUN(test_attributes_are_validated);
    return 0;
}
