/* SPDX-License-Identifier: MIT */
/* robust.c - robust mutexes: owners that die, consistency, and the fate of waiters. For mutexes of
 * this process; robust_shared.c has the same for mutexes that others may use, too. */
#include "harness.h"

#ifndef SHARING
#define SHARING PTHREAD_PROCESS_PRIVATE
#define WITH_PROTOCOLS
#endif

#define WAITERS 6

static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                            PTHREAD_MUTEX_ERRORCHECK};

static int protocol = PTHREAD_PRIO_NONE;

static void init(pthread_mutex_t *m, int type, int shared)
{
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_setpshared(&a, shared));
    OK(pthread_mutexattr_setprotocol(&a, protocol));
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a));
}

static pthread_mutex_t m;

static void *dies_with(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    return NULL;
}

static void init_dead(int type)
{
    init(&m, type, SHARING);
    in_thread(dies_with, &m);
}

CASE(lock_is_eownerdead_after_the_owner_died)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        init_dead(types[i]);
        CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
        OK(pthread_mutex_consistent(&m));
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_lock(&m)); /* as new */
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

#ifdef WITH_PROTOCOLS
CASE(inheriting_lock_is_eownerdead_after_the_owner_died)
{
    protocol = PTHREAD_PRIO_INHERIT;
    for (size_t i = 0; i < COUNT(types); i++) {
        init_dead(types[i]);
        CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
        OK(pthread_mutex_consistent(&m));
        OK(pthread_mutex_unlock(&m));
        in_thread(dies_with, &m);
        CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
        OK(pthread_mutex_unlock(&m));
        CHECK_EQ(pthread_mutex_lock(&m), ENOTRECOVERABLE);
        OK(pthread_mutex_destroy(&m));
    }
}
#endif

CASE(trylock_is_eownerdead_after_the_owner_died)
{
    init_dead(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_trylock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_trylock(&m));
}

CASE(timedlock_is_eownerdead_after_the_owner_died)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    init_dead(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    in_thread(dies_with, &m);
    at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &at), EOWNERDEAD);
}

static void *exits_with(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    pthread_exit(NULL);
}

CASE(lock_is_eownerdead_after_the_owner_called_exit)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    in_thread(exits_with, &m);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
}

static void *waits_for_cancel(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    for (;;) {
        sleep(LONG_MS / 1000);
    }
    return NULL;
}

CASE(lock_is_eownerdead_after_the_owner_was_cancelled)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    pthread_t t = start(waits_for_cancel, &m);
    while (pthread_mutex_trylock(&m) == 0) {
        OK(pthread_mutex_unlock(&m));
        sched_yield();
    }
    OK(pthread_cancel(t));
    CHECK(join(t) == PTHREAD_CANCELED);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
}

static void *dies_recursively(void *mutex)
{
    for (int i = 0; i < 3; i++) {
        OK(pthread_mutex_lock(mutex));
    }
    return NULL;
}

/* The count of the dead owner does not matter: the new owner holds it once. */
CASE(recursive_is_held_once_after_the_owner_died)
{
    init(&m, PTHREAD_MUTEX_RECURSIVE, SHARING);
    in_thread(dies_recursively, &m);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
}

enum { MANY = 20 };
static pthread_mutex_t all[MANY];

static void *dies_with_all(void *arg)
{
    for (int i = 0; i < MANY; i++) {
        OK(pthread_mutex_lock(&all[i]));
    }
    OK(pthread_mutex_unlock(&all[7]));
    return arg;
}

CASE(all_mutexes_of_the_dead_are_eownerdead)
{
    for (int i = 0; i < MANY; i++) {
        init(&all[i], types[i % COUNT(types)], SHARING);
    }
    in_thread(dies_with_all, NULL);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(pthread_mutex_lock(&all[i]), i == 7 ? 0 : EOWNERDEAD);
    }
}

static void *locks_and_unlocks(void *arg)
{
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    return arg;
}

CASE(nobody_dies_who_has_unlocked)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    for (int i = 0; i < 50; i++) {
        in_thread(locks_and_unlocks, NULL);
        OK(pthread_mutex_lock(&m));
        OK(pthread_mutex_unlock(&m));
    }
}

static flag_t waiting;

static void *waits(void *arg)
{
    flag_add(&waiting, 1);
    int error = pthread_mutex_lock(&m);
    if (error == EOWNERDEAD) {
        OK(pthread_mutex_consistent(&m));
    }
    if (error != ENOTRECOVERABLE) {
        OK(pthread_mutex_unlock(&m));
    }
    (void)arg;
    return (void *)(long)error;
}

static void *dies_before_waiters(void *arg)
{
    OK(pthread_mutex_lock(&m));
    flag_add(&waiting, 1);
    flag_wait(&waiting, WAITERS + 1);
    give_way();
    return arg;
}

static long errors_of(pthread_t *t, int n, long error)
{
    long count = 0;
    for (int i = 0; i < n; i++) {
        long got = (long)join(t[i]);
        CHECK(got == 0 || got == error);
        count += got == error;
    }
    return count;
}

CASE(one_waiter_learns_when_the_owner_dies)
{
    pthread_t owner, t[WAITERS];
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    owner = start(dies_before_waiters, NULL);
    flag_wait(&waiting, 1);
    for (int i = 0; i < WAITERS; i++) {
        t[i] = start(waits, NULL);
    }
    join(owner);
    CHECK_EQ(errors_of(t, WAITERS, EOWNERDEAD), 1);
}

static void make_unrecoverable(int type)
{
    init_dead(type);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_unlock(&m)); /* without making it consistent */
}

CASE(lock_is_enotrecoverable_when_not_made_consistent)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        make_unrecoverable(types[i]);
        CHECK_EQ(pthread_mutex_lock(&m), ENOTRECOVERABLE);
        CHECK_EQ(pthread_mutex_lock(&m), ENOTRECOVERABLE);
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(trylock_is_enotrecoverable_when_not_made_consistent)
{
    make_unrecoverable(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_trylock(&m), ENOTRECOVERABLE);
}

CASE(lock_is_enotrecoverable_after_trylock_was)
{
    make_unrecoverable(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_trylock(&m), ENOTRECOVERABLE);
    CHECK_EQ(pthread_mutex_lock(&m), ENOTRECOVERABLE);
}

CASE(timedlock_is_enotrecoverable_when_not_made_consistent)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    make_unrecoverable(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), ENOTRECOVERABLE);
    CHECK_EQ(pthread_mutex_clocklock(&m, CLOCK_REALTIME, &at), ENOTRECOVERABLE);
}

CASE(destroyed_and_initialised_it_recovers)
{
    make_unrecoverable(PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_destroy(&m));
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
}

CASE(all_waiters_learn_when_it_is_not_recoverable)
{
    pthread_t t[WAITERS];
    init_dead(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    for (int i = 0; i < WAITERS; i++) {
        t[i] = start(waits, NULL);
    }
    flag_wait(&waiting, WAITERS);
    give_way();
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(errors_of(t, WAITERS, ENOTRECOVERABLE), WAITERS);
}

static void *dies_again(void *arg)
{
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    return arg;
}

CASE(owner_may_die_again_before_it_is_consistent)
{
    init_dead(PTHREAD_MUTEX_NORMAL);
    in_thread(dies_again, NULL);
    in_thread(dies_again, NULL);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_lock(&m));
}

CASE(consistent_is_einval_when_consistent)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    CHECK_EQ(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_unlock(&m));
}

CASE(consistent_is_einval_when_not_robust)
{
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_consistent(&plain), EINVAL);
    OK(pthread_mutex_lock(&plain));
    CHECK_EQ(pthread_mutex_consistent(&plain), EINVAL);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(consistent_np_is_the_same)
{
    NOT_SANITIZED("the layer has this name outside only");
    init_dead(PTHREAD_MUTEX_NORMAL);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent_np(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_lock(&m));
}
#pragma GCC diagnostic pop

static void *unlocks(void *mutex)
{
    return (void *)(long)pthread_mutex_unlock(mutex);
}

CASE(unlock_is_eperm_when_not_the_owner)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        init(&m, types[i], SHARING);
        CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ((long)in_thread(unlocks, &m), EPERM);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(types_are_what_they_are)
{
    struct timespec at;
    init(&m, PTHREAD_MUTEX_ERRORCHECK, SHARING);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
    OK(pthread_mutex_unlock(&m));
    init(&m, PTHREAD_MUTEX_RECURSIVE, SHARING);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(&m));
}

CASE(trylock_is_ebusy_when_the_caller_holds_it)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
}

CASE(errorcheck_trylock_is_ebusy_when_the_caller_holds_it)
{
    init(&m, PTHREAD_MUTEX_ERRORCHECK, SHARING);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool ready;

static void *signals_and_dies(void *arg)
{
    OK(pthread_mutex_lock(&m));
    ready = true;
    OK(pthread_cond_signal(&cond));
    return arg;
}

CASE(cond_wait_is_eownerdead_when_the_signaller_died)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    pthread_t t = start(signals_and_dies, NULL);
    int error = 0;
    while (!ready && error == 0) {
        error = pthread_cond_wait(&cond, &m);
    }
    CHECK_EQ(error, EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    join(t);
}

static void *waits_on_cond(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    int error = 0;
    OK(pthread_mutex_lock(&m));
    flag_add(&waiting, 1);
    while (!ready && error == 0) {
        error = arg != NULL ? pthread_cond_timedwait(&cond, &m, &at) : pthread_cond_wait(&cond, &m);
    }
    return (void *)(long)error;
}

static void cond_unrecoverable(void *timed)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    pthread_t t = start(waits_on_cond, timed);
    flag_wait(&waiting, 1);
    OK(pthread_mutex_lock(&m)); /* it waits now */
    OK(pthread_mutex_unlock(&m));
    in_thread(dies_with, &m);
    CHECK_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
    ready = true;
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ((long)join(t), ENOTRECOVERABLE);
}

CASE(cond_wait_is_enotrecoverable_when_the_mutex_is)
{
    cond_unrecoverable(NULL);
}

CASE(cond_timedwait_is_enotrecoverable_when_the_mutex_is)
{
    cond_unrecoverable(&m);
}

CASE(cond_timedwait_is_eownerdead_when_the_owner_died)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    pthread_t t = start(signals_and_dies, NULL);
    int error = 0;
    while (!ready && error == 0) {
        error = pthread_cond_timedwait(&cond, &m, &at);
    }
    CHECK_EQ(error, EOWNERDEAD);
    join(t);
}

static long counter, deaths, noticed;

/* Counts under the mutex; some end inside. */
static void *counts_and_may_die(void *dies)
{
    enum { ROUNDS = 300 };
    for (int i = 0; i < ROUNDS; i++) {
        int error = pthread_mutex_lock(&m);
        if (error == EOWNERDEAD) {
            noticed++;
            OK(pthread_mutex_consistent(&m));
        } else {
            OK(error);
        }
        long seen = counter;
        if (i % 16 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        if (dies != NULL && i == ROUNDS - 1) {
            deaths++;
            return NULL;
        }
        OK(pthread_mutex_unlock(&m));
    }
    return NULL;
}

static void count_and_die(int type)
{
    pthread_t t[WAITERS];
    counter = deaths = noticed = 0;
    init(&m, type, SHARING);
    for (long i = 0; i < WAITERS; i++) {
        t[i] = start(counts_and_may_die, (void *)(i % 2));
    }
    for (int i = 0; i < WAITERS; i++) {
        join(t[i]);
    }
    int error = pthread_mutex_lock(&m);
    OK_OR(error, EOWNERDEAD);
    noticed += error == EOWNERDEAD;
    CHECK_EQ(counter, WAITERS * 300);
    CHECK_EQ(deaths, WAITERS / 2);
    CHECK_EQ(noticed, deaths);
}

CASE(each_death_is_reported_once)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        count_and_die(types[i]);
    }
#ifdef WITH_PROTOCOLS
    protocol = PTHREAD_PRIO_INHERIT;
    for (size_t i = 0; i < COUNT(types); i++) {
        count_and_die(types[i]);
    }
#endif
}

static pthread_key_t key;

static void unlocks_late(void *mutex)
{
    OK(pthread_mutex_unlock(mutex));
}

static void *unlocks_in_destructor(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    OK(pthread_setspecific(key, mutex));
    return NULL;
}

CASE(key_destructors_run_before_the_owner_is_dead)
{
    OK(pthread_key_create(&key, unlocks_late));
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    in_thread(unlocks_in_destructor, &m);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
}

#ifdef ON_PIRN
/* glibc does not check robust mutexes. */
CASE(destroy_is_ebusy_when_held)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_destroy(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}
#endif

static pthread_mutex_t *between;

static void locks_and_leaves(void)
{
    OK(pthread_mutex_lock(between));
}

/* The process of the owner ends. */
CASE(lock_is_eownerdead_after_the_process_died)
{
    between = shared_memory(sizeof(*between));
    init(between, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_SHARED);
    in_child(locks_and_leaves);
    CHECK_EQ(pthread_mutex_lock(between), EOWNERDEAD);
    OK(pthread_mutex_consistent(between));
    OK(pthread_mutex_unlock(between));
    OK(pthread_mutex_lock(between));
    OK(pthread_mutex_unlock(between));
}

/* POSIX allows an error for a robust mutex that is not shared; here it works (above) and is no
 * error. */
CASE(init_takes_robust_private_mutexes)
{
    init(&m, PTHREAD_MUTEX_NORMAL, SHARING);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}
