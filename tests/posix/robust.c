/* SPDX-License-Identifier: MIT */
/* robust.c - robust mutexes of all types: owners that end, repair, no repair. */
#include "check.h"

#ifdef ON_PIRN
static const bool on_pirn = true;
#else
static const bool on_pirn = false;
#endif

#define THREADS 6
#define ROUNDS 300

static void init(pthread_mutex_t *m, int type, int protocol)
{
    pthread_mutexattr_t a;
    int value;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_setprotocol(&a, protocol));
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a));
}

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_RECURSIVE};
static const int protocols[] = {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT};

static void for_all(void (*test)(pthread_mutex_t *m, int type))
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t k = 0; k < sizeof(protocols) / sizeof(protocols[0]); k++) {
            pthread_mutex_t m;
            init(&m, types[i], protocols[k]);
            test(&m, types[i]);
            OK(pthread_mutex_destroy(&m));
        }
    }
}

static void *dies(void *m)
{
    OK(pthread_mutex_lock(m));
    return NULL;
}

static void *dies_by_exit(void *m)
{
    OK(pthread_mutex_lock(m));
    pthread_exit(NULL);
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

static int lock_timed(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    return pthread_mutex_timedlock(m, &at);
}

static int lock_clocked(pthread_mutex_t *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    return pthread_mutex_clocklock(m, CLOCK_REALTIME, &at);
}

static int (*const locks[])(pthread_mutex_t *) = {pthread_mutex_lock, pthread_mutex_trylock,
                                                  lock_timed, lock_clocked};

static void repairs(pthread_mutex_t *m, int type)
{
    (void)type;
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        join(start(i % 2 ? dies : dies_by_exit, m));
        CHECK_EQ(locks[i](m), EOWNERDEAD);
        CHECK_EQ((long)join(start(tries, m)), EBUSY);
        CHECK_EQ((long)join(start(unlocks, m)), EPERM);
        OK(pthread_mutex_consistent(m));
        CHECK_EQ(pthread_mutex_consistent(m), EINVAL);
        OK(pthread_mutex_unlock(m));
        OK((long)join(start(tries, m)));
    }
}

static void test_next_owner_is_told_and_repairs(void)
{
    for_all(repairs);
}

static void behaves(pthread_mutex_t *m, int type)
{
    OK(pthread_mutex_lock(m));
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(m));
        OK(pthread_mutex_trylock(m));
        CHECK_EQ((long)join(start(unlocks, m)), EPERM);
        OK(pthread_mutex_unlock(m));
        OK(pthread_mutex_unlock(m));
    } else {
        /* POSIX says EBUSY; the C library says EDEADLK for robust error-checking ones. */
        int error = pthread_mutex_trylock(m);
        CHECK(error == EBUSY || (error == EDEADLK && !on_pirn));
    }
    if (type == PTHREAD_MUTEX_ERRORCHECK) {
        CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
        CHECK_EQ(lock_timed(m), EDEADLK);
    }
    CHECK_EQ((long)join(start(tries, m)), EBUSY);
    CHECK_EQ((long)join(start(unlocks, m)), EPERM);
    OK(pthread_mutex_unlock(m));
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    CHECK_EQ(pthread_mutex_consistent(m), EINVAL);
}

static void test_types_behave_as_without_robustness(void)
{
    for_all(behaves);
}

static flag_t waiting;

static void *waits(void *m)
{
    flag_add(&waiting, 1);
    int error = pthread_mutex_lock(m);
    if (error == EOWNERDEAD || error == 0) {
        give_way();
        OK(pthread_mutex_unlock(m)); /* without repair */
    }
    return (void *)(long)error;
}

static void is_lost(pthread_mutex_t *m, int type)
{
    pthread_t t[THREADS];
    int died = 0, lost = 0, n = on_pirn ? THREADS : 2; /* the C library does not wake the others */
    (void)type;
    flag_set(&waiting, 0);
    join(start(dies, m));
    for (int i = 0; i < n; i++) {
        t[i] = start(waits, m);
    }
    for (int i = 0; i < n; i++) {
        long error = (long)join(t[i]);
        died += error == EOWNERDEAD;
        lost += error == ENOTRECOVERABLE;
    }
    CHECK_EQ(died, 1);
    CHECK_EQ(lost, n - 1);
    /* (and after a trylock it holds the mutex itself) */
    for (size_t i = 0; i < (on_pirn ? sizeof(locks) / sizeof(locks[0]) : 1); i++) {
        CHECK_EQ(locks[i](m), ENOTRECOVERABLE);
    }
    CHECK_EQ(pthread_mutex_consistent(m), EINVAL);
}

static void test_unrepaired_mutex_is_lost_to_all(void)
{
    for_all(is_lost);
}

static void *dies_later(void *m)
{
    OK(pthread_mutex_lock(m));
    flag_set(&waiting, 1);
    give_way();
    return NULL;
}

static void is_handed_over(pthread_mutex_t *m, int type)
{
    (void)type;
    flag_set(&waiting, 0);
    pthread_t t = start(dies_later, m);
    flag_wait(&waiting, 1);
    CHECK_EQ(lock_timed(m), EOWNERDEAD);
    OK(pthread_mutex_consistent(m));
    OK(pthread_mutex_unlock(m));
    join(t);
}

static void test_waiter_is_told_when_owner_ends(void)
{
    for_all(is_handed_over);
}

static void is_woken(pthread_mutex_t *m, int type)
{
    (void)type;
    flag_set(&waiting, 0);
    OK(pthread_mutex_lock(m));
    pthread_t t = start(waits, m);
    flag_wait(&waiting, 1);
    give_way();
    OK(pthread_mutex_unlock(m));
    OK((long)join(t));
}

static void test_waiter_is_woken_by_unlock(void)
{
    for_all(is_woken);
}

static void *times_out_here(void *m)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = (struct timespec){.tv_sec = at.tv_sec, .tv_nsec = NS_PER_S};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), EINVAL);
    return NULL;
}

static void waits_in_vain(pthread_mutex_t *m, int type)
{
    (void)type;
    OK(pthread_mutex_lock(m));
    join(start(times_out_here, m));
    if (on_pirn) { /* the C library does not look, for robust ones */
        CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    }
    OK(pthread_mutex_unlock(m));
}

static void test_timeout_when_held(void)
{
    for_all(waits_in_vain);
}

static pthread_mutex_t shared;
static long counter, deaths, told;

/* Counts under the mutex; one in a while ends inside. */
static void *counts(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        int error = pthread_mutex_lock(&shared);
        if (error == EOWNERDEAD) {
            told++;
            OK(pthread_mutex_consistent(&shared));
        } else {
            OK(error);
        }
        long seen = counter;
        if (i % 16 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        if (arg != NULL && i == ROUNDS - 1) {
            deaths++;
            return NULL;
        }
        OK(pthread_mutex_unlock(&shared));
    }
    return NULL;
}

static void excludes(pthread_mutex_t *m, int type)
{
    pthread_t t[THREADS];
    int error;
    (void)m;
    counter = deaths = told = 0;
    init(&shared, type, type == PTHREAD_MUTEX_NORMAL ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_INHERIT);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(counts, (void *)(i % 2));
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    error = pthread_mutex_lock(&shared);
    CHECK(error == 0 || error == EOWNERDEAD);
    told += error == EOWNERDEAD;
    CHECK_EQ(counter, THREADS * ROUNDS);
    CHECK_EQ(deaths, THREADS / 2);
    CHECK_EQ(told, deaths);
    if (error == EOWNERDEAD) {
        OK(pthread_mutex_consistent(&shared));
    }
    OK(pthread_mutex_unlock(&shared));
    OK(pthread_mutex_destroy(&shared));
}

static void test_excludes_and_tells_each_death_once(void)
{
    for_all(excludes);
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *waits_for_signal(void *m)
{
    OK(pthread_mutex_lock(m));
    flag_add(&waiting, 1);
    int error = pthread_cond_wait(&cond, m);
    if (error != ENOTRECOVERABLE) {
        OK(error == EOWNERDEAD ? pthread_mutex_consistent(m) : 0);
        OK(pthread_mutex_unlock(m));
    }
    return (void *)(long)error;
}

static void *signals_and_dies(void *m)
{
    OK(pthread_mutex_lock(m));
    OK(pthread_cond_signal(&cond));
    give_way();
    return NULL;
}

static void cond_tells(pthread_mutex_t *m, int type)
{
    (void)type;
    flag_set(&waiting, 0);
    pthread_t t = start(waits_for_signal, m);
    flag_wait(&waiting, 1);
    join(start(signals_and_dies, m));
    CHECK_EQ((long)join(t), EOWNERDEAD);
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_cond_timedwait(&cond, m, &at), EPERM);
    OK(pthread_mutex_lock(m));
    CHECK_EQ(pthread_cond_timedwait(&cond, m, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(m));
}

static void test_condition_wait_tells_that_owner_ended(void)
{
    for_all(cond_tells);
}

static pthread_key_t key;

static void unlocks_late(void *m)
{
    OK(pthread_mutex_unlock(m));
}

static void *unlocks_in_destructor(void *m)
{
    OK(pthread_mutex_lock(m));
    OK(pthread_setspecific(key, m));
    return NULL;
}

static void destructor_unlocks(pthread_mutex_t *m, int type)
{
    (void)type;
    join(start(unlocks_in_destructor, m));
    OK(pthread_mutex_lock(m));
    OK(pthread_mutex_unlock(m));
}

static void test_key_destructors_run_before_the_end(void)
{
    OK(pthread_key_create(&key, unlocks_late));
    for_all(destructor_unlocks);
    OK(pthread_key_delete(key));
}

static void test_others_cannot_be_repaired(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_unlock(&m));
}

int main(void)
{
    RUN(test_next_owner_is_told_and_repairs);
    RUN(test_types_behave_as_without_robustness);
    RUN(test_unrepaired_mutex_is_lost_to_all);
    RUN(test_waiter_is_told_when_owner_ends);
    RUN(test_waiter_is_woken_by_unlock);
    RUN(test_timeout_when_held);
    RUN(test_excludes_and_tells_each_death_once);
    RUN(test_condition_wait_tells_that_owner_ended);
    RUN(test_key_destructors_run_before_the_end);
    RUN(test_others_cannot_be_repaired);
    return 0;
}
