/* SPDX-License-Identifier: MIT */
/* mutex.c - mutexes of all types, static initialisers, timed locking. */
#include "check.h"

#define THREADS 8
#define ROUNDS 2000

static void init_type(pthread_mutex_t *m, int type)
{
    pthread_mutexattr_t a;
    int got;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_gettype(&a, &got));
    CHECK_EQ(got, type);
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a));
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

static void excludes(pthread_mutex_t *m)
{
    pthread_t t[THREADS];
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

static void test_every_initialiser_excludes(void)
{
    static pthread_mutex_t zero, plain = PTHREAD_MUTEX_INITIALIZER,
                                 recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                 errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                 adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    excludes(&zero);
    excludes(&plain);
    excludes(&recursive);
    excludes(&errorcheck);
    excludes(&adaptive);
}

static void test_every_type_excludes(void)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        pthread_mutex_t m;
        init_type(&m, types[i]);
        excludes(&m);
        OK(pthread_mutex_destroy(&m));
    }
}

/* Another thread's result of one call on the mutex. */
typedef int (*call_t)(pthread_mutex_t *);
struct request {
    call_t call;
    pthread_mutex_t *mutex;
};

static void *calls(void *arg)
{
    struct request *r = arg;
    return (void *)(long)r->call(r->mutex);
}

static int elsewhere(call_t call, pthread_mutex_t *m)
{
    struct request r = {call, m};
    return (int)(long)join(start(calls, &r));
}

static int trylock_unlock(pthread_mutex_t *m)
{
    int error = pthread_mutex_trylock(m);
    if (error == 0) {
        pthread_mutex_unlock(m);
    }
    return error;
}

static void test_trylock_returns_ebusy_when_held(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_trylock(&m));
    CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
    CHECK_EQ(elsewhere(trylock_unlock, &m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(elsewhere(trylock_unlock, &m));
    OK(pthread_mutex_destroy(&m));
}

static void recursive_counts(pthread_mutex_t *m)
{
    for (int i = 0; i < 5; i++) {
        OK(i % 2 ? pthread_mutex_lock(m) : pthread_mutex_trylock(m));
    }
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(elsewhere(trylock_unlock, m), EBUSY);
        CHECK_EQ(elsewhere(pthread_mutex_unlock, m), EPERM);
        OK(pthread_mutex_unlock(m));
    }
    OK(elsewhere(trylock_unlock, m));
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
}

static void test_recursive_counts(void)
{
    pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    recursive_counts(&m);
    OK(pthread_mutex_destroy(&m));
    init_type(&m, PTHREAD_MUTEX_RECURSIVE);
    recursive_counts(&m);
    OK(pthread_mutex_destroy(&m));
}

static void errorcheck_reports(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 1000);
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    OK(pthread_mutex_lock(m));
    CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EDEADLK);
    CHECK_EQ(elsewhere(pthread_mutex_unlock, m), EPERM);
    OK(pthread_mutex_unlock(m));
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
}

static void test_errorcheck_reports(void)
{
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    errorcheck_reports(&m);
    OK(pthread_mutex_destroy(&m));
    init_type(&m, PTHREAD_MUTEX_ERRORCHECK);
    errorcheck_reports(&m);
    OK(pthread_mutex_destroy(&m));
}

static int timed_out(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    int error = pthread_mutex_timedlock(m, &at);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at), error);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    at = (struct timespec){.tv_sec = 1};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), error);
    at = (struct timespec){.tv_sec = -1};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), error);
    return error;
}

static int bad_time(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 1000);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EINVAL);
    at.tv_nsec = NS_PER_S;
    return pthread_mutex_timedlock(m, &at);
}

static void test_timedlock_times_out_when_held(void)
{
    for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ERRORCHECK; type++) {
        pthread_mutex_t m;
        init_type(&m, type);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(elsewhere(timed_out, &m), ETIMEDOUT);
        CHECK_EQ(elsewhere(bad_time, &m), EINVAL);
        OK(pthread_mutex_unlock(&m));
        OK(elsewhere(trylock_unlock, &m));
        OK(pthread_mutex_destroy(&m));
    }
}

static int timedlock_free(pthread_mutex_t *m)
{
    struct timespec at = {0};
    int error = pthread_mutex_timedlock(m, &at);
    if (error == 0) {
        error = pthread_mutex_unlock(m);
    }
    return error;
}

static void test_timedlock_ignores_the_time_when_free(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(elsewhere(timedlock_free, &m));
    OK(pthread_mutex_destroy(&m));
}

static int timedlock_long(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    int error = pthread_mutex_timedlock(m, &at);
    return error != 0 ? error : pthread_mutex_unlock(m);
}

static void test_timedlock_gets_it_when_released_in_time(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct request r = {timedlock_long, &m};
    OK(pthread_mutex_lock(&m));
    pthread_t t = start(calls, &r);
    give_way();
    OK(pthread_mutex_unlock(&m));
    OK((long)join(t));
    OK(pthread_mutex_destroy(&m));
}

static void test_destroy_returns_ebusy_when_held(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_destroy(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

/* The last user of an object in shared memory destroys and frees it. */
struct counted {
    pthread_mutex_t mutex;
    int users;
};

static void *drops(void *arg)
{
    struct counted *c = arg;
    OK(pthread_mutex_lock(&c->mutex));
    int left = --c->users;
    OK(pthread_mutex_unlock(&c->mutex));
    if (left == 0) {
        OK(pthread_mutex_destroy(&c->mutex));
        memset(c, 0xee, sizeof(*c));
        free(c);
    }
    return NULL;
}

static void test_destroy_may_follow_the_last_unlock_at_once(void)
{
    for (int round = 0; round < 300; round++) {
        struct counted *c = malloc(sizeof(*c));
        pthread_t t[4];
        OK(pthread_mutex_init(&c->mutex, NULL));
        c->users = 4;
        for (int i = 0; i < 4; i++) {
            t[i] = start(drops, c);
        }
        for (int i = 0; i < 4; i++) {
            join(t[i]);
        }
    }
}

static void test_attributes_are_validated(void)
{
    pthread_mutexattr_t a;
    int value;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_gettype(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_DEFAULT);
    CHECK_EQ(pthread_mutexattr_settype(&a, 77), EINVAL);
    CHECK_EQ(pthread_mutexattr_setpshared(&a, 77), EINVAL);
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_mutexattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQ(pthread_mutexattr_setprotocol(&a, 77), EINVAL);
    OK(pthread_mutexattr_getprotocol(&a, &value));
    CHECK_EQ(value, PTHREAD_PRIO_NONE);
    CHECK_EQ(pthread_mutexattr_setrobust(&a, 77), EINVAL);
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_STALLED);
    OK(pthread_mutexattr_destroy(&a));
}

/* A mutex that silently works in one process only would be worse than none. */
static void test_what_is_not_there_is_refused(void)
{
#ifdef ON_PIRN
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    CHECK_EQ(pthread_mutex_init(&m, &a), ENOTSUP);
    OK(pthread_mutexattr_destroy(&a));
    CHECK_EQ(pthread_mutex_init(&m, &a), EINVAL);
    pthread_mutex_t strange = PTHREAD_MUTEX_INITIALIZER;
    strange.__data.__kind = 512;
    CHECK_EQ(pthread_mutex_lock(&strange), EINVAL);
    CHECK_EQ(pthread_mutex_trylock(&strange), EINVAL);
    CHECK_EQ(pthread_mutex_unlock(&strange), EINVAL);
    CHECK_EQ(pthread_mutex_destroy(&strange), EINVAL);
#endif
}

int main(void)
{
    RUN(test_every_initialiser_excludes);
    RUN(test_every_type_excludes);
    RUN(test_trylock_returns_ebusy_when_held);
    RUN(test_recursive_counts);
    RUN(test_errorcheck_reports);
    RUN(test_timedlock_times_out_when_held);
    RUN(test_timedlock_ignores_the_time_when_free);
    RUN(test_timedlock_gets_it_when_released_in_time);
    RUN(test_destroy_returns_ebusy_when_held);
    RUN(test_destroy_may_follow_the_last_unlock_at_once);
    RUN(test_attributes_are_validated);
    RUN(test_what_is_not_there_is_refused);
    return 0;
}
