/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - cancellation: states and types, requests, cleanup handlers, and what a cancelled
 * thread leaves behind. Each cancellation point: cancel_points.c.
 */
#include "harness.h"

static flag_t ready, go, passed;

static void is_cancelled(pthread_t t)
{
    CHECK(join(t) == PTHREAD_CANCELED);
}

CASE(state_is_enabled_at_first)
{
    int old = -1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_DISABLE);
}

CASE(state_is_einval_for_other_values)
{
    int old = -1;
    CHECK_EQ(pthread_setcancelstate(77, &old), EINVAL);
    CHECK_EQ(pthread_setcancelstate(-1, &old), EINVAL);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
}

CASE(type_is_deferred_at_first)
{
    int old = -1;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_ASYNCHRONOUS);
}

CASE(type_is_einval_for_other_values)
{
    int old = -1;
    CHECK_EQ(pthread_setcanceltype(77, &old), EINVAL);
    CHECK_EQ(pthread_setcanceltype(-1, &old), EINVAL);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
}

static void *tells_state_and_type(void *arg)
{
    int state, type;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
    CHECK_EQ(state, PTHREAD_CANCEL_ENABLE);
    CHECK_EQ(type, PTHREAD_CANCEL_DEFERRED);
    return arg;
}

CASE(state_and_type_are_not_inherited)
{
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    in_thread(tells_state_and_type, NULL);
}

CASE(testcancel_does_nothing_without_a_request)
{
    for (int i = 0; i < 100; i++) {
        pthread_testcancel();
    }
}

static void *tests_until_cancelled(void *arg)
{
    flag_add(&ready, 1);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return arg;
}

CASE(testcancel_acts_on_a_request)
{
    pthread_t t[10];
    for (int i = 0; i < 10; i++) {
        t[i] = start(tests_until_cancelled, NULL);
    }
    flag_wait(&ready, 10);
    for (int i = 0; i < 10; i++) {
        OK(pthread_cancel(t[i]));
    }
    for (int i = 0; i < 10; i++) {
        is_cancelled(t[i]);
    }
}

static void *is_cancelled_before_it_looks(void *arg)
{
    flag_set(&ready, 1);
    flag_wait(&go, 1); /* no cancellation point */
    flag_set(&passed, 1);
    pthread_testcancel();
    flag_set(&passed, 2);
    return arg;
}

CASE(request_waits_for_a_cancellation_point)
{
    pthread_t t = start(is_cancelled_before_it_looks, NULL);
    flag_wait(&ready, 1);
    OK(pthread_cancel(t));
    flag_set(&go, 1);
    is_cancelled(t);
    CHECK_EQ(flag_get(&passed), 1);
}

CASE(request_before_the_thread_runs)
{
    for (int i = 0; i < 50; i++) {
        pthread_t t = start(tests_until_cancelled, NULL);
        OK(pthread_cancel(t));
        is_cancelled(t);
    }
}

static void *cancels_itself(void *arg)
{
    OK(pthread_cancel(pthread_self()));
    flag_set(&passed, 1);
    pthread_testcancel();
    flag_set(&passed, 2);
    return arg;
}

CASE(cancel_of_oneself)
{
    is_cancelled(start(cancels_itself, NULL));
    CHECK_EQ(flag_get(&passed), 1);
}

CASE(cancel_of_a_thread_that_has_ended)
{
    pthread_t t = start(tells_state_and_type, (void *)5L);
    give_way();
    usleep(5000);
    OK(pthread_cancel(t)); /* its id is valid until it is joined */
    CHECK_EQ((long)join(t), 5);
}

CASE(cancel_twice_is_once)
{
    pthread_t t = start(tests_until_cancelled, NULL);
    OK(pthread_cancel(t));
    OK(pthread_cancel(t));
    is_cancelled(t);
}

static void *is_disabled(void *arg)
{
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    flag_set(&ready, 1);
    flag_wait(&go, 1);
    pthread_testcancel();
    usleep(100);
    flag_set(&passed, 1);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    flag_set(&passed, 2); /* deferred: not yet */
    pthread_testcancel();
    flag_set(&passed, 3);
    return arg;
}

CASE(disabled_keeps_the_request)
{
    pthread_t t = start(is_disabled, NULL);
    flag_wait(&ready, 1);
    OK(pthread_cancel(t));
    flag_set(&go, 1);
    is_cancelled(t);
    CHECK_EQ(flag_get(&passed), 2);
}

static void *blocks_disabled(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 20);
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    flag_set(&ready, 1);
    OK(pthread_mutex_lock(&m));
    while (pthread_cond_timedwait(&c, &m, &at) == 0) {
    }
    OK(pthread_mutex_unlock(&m));
    usleep(5000);
    return arg;
}

CASE(disabled_is_not_woken)
{
    pthread_t t = start(blocks_disabled, (void *)6L);
    flag_wait(&ready, 1);
    give_way();
    OK(pthread_cancel(t));
    CHECK_EQ((long)join(t), 6);
}

static void *computes_asynchronously(void *arg)
{
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    flag_set(&ready, 1);
    for (;;) {
        __asm__ volatile("");
    }
    return arg;
}

CASE(asynchronous_ends_a_thread_that_computes)
{
    for (int i = 0; i < 10; i++) {
        flag_set(&ready, 0);
        pthread_t t = start(computes_asynchronously, NULL);
        flag_wait(&ready, 1);
        OK(pthread_cancel(t));
        is_cancelled(t);
    }
}

static void *becomes_asynchronous(void *arg)
{
    OK(pthread_cancel(pthread_self()));
    flag_set(&passed, 1);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (;;) {
        __asm__ volatile("");
    }
    return arg;
}

CASE(asynchronous_acts_on_a_request_that_waits)
{
    is_cancelled(start(becomes_asynchronous, NULL));
    CHECK_EQ(flag_get(&passed), 1);
}

static void *is_enabled_again(void *arg)
{
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    OK(pthread_cancel(pthread_self()));
    flag_set(&passed, 1);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    for (;;) {
        __asm__ volatile("");
    }
    return arg;
}

CASE(asynchronous_acts_when_enabled)
{
    is_cancelled(start(is_enabled_again, NULL));
    CHECK_EQ(flag_get(&passed), 1);
}

static pthread_mutex_t locks[3];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void lock_of(long which)
{
    if (which < (long)COUNT(locks)) {
        pthread_mutex_lock(&locks[which]);
    } else if (which == (long)COUNT(locks)) {
        pthread_rwlock_rdlock(&rwlock);
    } else {
        pthread_rwlock_wrlock(&rwlock);
    }
}

static void *locks_asynchronously(void *arg)
{
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    flag_set(&ready, 1);
    lock_of((long)arg);
    flag_set(&passed, 1);
    return arg;
}

/* The locks are main's meanwhile, and whole afterwards. */
CASE(asynchronous_ends_a_wait_for_a_lock)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutex_init(&locks[0], &attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutex_init(&locks[1], &attr));
    OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&locks[2], &attr));
    for (size_t i = 0; i < COUNT(locks); i++) {
        OK(pthread_mutex_lock(&locks[i]));
    }
    OK(pthread_rwlock_wrlock(&rwlock));
    for (long i = 0; i < 20 * (long)(COUNT(locks) + 2); i++) {
        flag_set(&ready, 0);
        pthread_t t = start(locks_asynchronously, (void *)(i % (long)(COUNT(locks) + 2)));
        flag_wait(&ready, 1);
        if (i % 2 != 0) {
            give_way();
        }
        OK(pthread_cancel(t));
        is_cancelled(t);
    }
    CHECK_EQ(flag_get(&passed), 0);
    for (size_t i = 0; i < COUNT(locks); i++) {
        OK(pthread_mutex_unlock(&locks[i]));
        OK(pthread_mutex_destroy(&locks[i]));
    }
    OK(pthread_rwlock_unlock(&rwlock));
    OK(pthread_rwlock_rdlock(&rwlock));
    OK(pthread_rwlock_unlock(&rwlock));
}

static char order[32];
static int length;

static void note(void *what)
{
    order[length++] = *(const char *)what;
}

static pthread_key_t key;

static void *waits_with_handlers(void *arg)
{
    OK(pthread_setspecific(key, "k"));
    pthread_cleanup_push(note, "1");
    pthread_cleanup_push(note, "2");
    pthread_cleanup_push(note, "not run");
    pthread_cleanup_pop(0);
    pthread_cleanup_push(note, "3");
    flag_set(&ready, 1);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

CASE(handlers_run_newest_first_then_key_destructors)
{
    OK(pthread_key_create(&key, note));
    pthread_t t = start(waits_with_handlers, NULL);
    flag_wait(&ready, 1);
    OK(pthread_cancel(t));
    is_cancelled(t);
    OK(strcmp(order, "321k"));
}

static pthread_t who;

static void uses_cancellation_points(void *arg)
{
    CHECK(pthread_equal(pthread_self(), who));
    pthread_testcancel();
    usleep(100);
    sched_yield();
    note(arg);
}

static void *has_a_blocking_handler(void *arg)
{
    who = pthread_self();
    pthread_cleanup_push(uses_cancellation_points, "a");
    pthread_cleanup_push(uses_cancellation_points, "b");
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

/* A handler is not cancelled, even at cancellation points. */
CASE(handlers_may_block)
{
    pthread_t t = start(has_a_blocking_handler, NULL);
    OK(pthread_cancel(t));
    is_cancelled(t);
    OK(strcmp(order, "ba"));
}

static void tells(void *arg)
{
    (void)arg;
    flag_set(&passed, 1);
}

static void *detached_waits(void *arg)
{
    pthread_cleanup_push(tells, NULL);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop(0);
    return arg;
}

CASE(detached_threads_are_cancelled)
{
    pthread_t t = start(detached_waits, NULL);
    OK(pthread_detach(t));
    OK(pthread_cancel(t));
    flag_wait(&passed, 1);
}

static void *cancels_main(void *main_thread)
{
    OK(pthread_cancel(*(pthread_t *)main_thread));
    CHECK(join(*(pthread_t *)main_thread) == PTHREAD_CANCELED);
    case_passed();
}

CASE(main_can_be_cancelled)
{
    static pthread_t self;
    self = pthread_self();
    start(cancels_main, &self);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
}

static void *keeps_in_handler(void *arg)
{
    int state;
    pthread_cleanup_push_defer_np(note, "d");
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop_restore_np(0);
    return arg;
}

CASE(handlers_of_push_defer_run)
{
    pthread_t t = start(keeps_in_handler, NULL);
    OK(pthread_cancel(t));
    is_cancelled(t);
    OK(strcmp(order, "d"));
}

CASE(many_threads_are_cancelled_as_they_start)
{
    pthread_t t[200];
    for (int i = 0; i < 200; i++) {
        t[i] = start(tests_until_cancelled, NULL);
        OK(pthread_cancel(t[i]));
    }
    for (int i = 0; i < 200; i++) {
        is_cancelled(t[i]);
    }
}
