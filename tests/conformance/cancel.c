/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - cancellation: states and types, requests, cleanup handlers, and what a cancelled
 * thread leaves behind. Each cancellation point: cancel_points.c.
 */
#include "harness.h"

#include <semaphore.h>

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

/* A handler is not cancelled itself, though it reaches cancellation points. */
CASE(handlers_may_block)
{
    pthread_t t = start(has_a_blocking_handler, NULL);
    OK(pthread_cancel(t));
    is_cancelled(t);
    OK(strcmp(order, "ba"));
}

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, tickets;

static void unlocks(void *mutex)
{
    OK(pthread_mutex_unlock(mutex)); /* EPERM unless this thread has it */
}

static void *waits_on_condition(void *how)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_mutex_lock(&m));
    pthread_cleanup_push(unlocks, &m);
    waiting++;
    while (tickets == 0) {
        OK(how != NULL ? pthread_cond_timedwait(&c, &m, &at) : pthread_cond_wait(&c, &m));
    }
    tickets--;
    pthread_cleanup_pop(1);
    return NULL;
}

static void wait_for_waiters(int n)
{
    OK(pthread_mutex_lock(&m));
    while (waiting < n) {
        OK(pthread_mutex_unlock(&m));
        sched_yield();
        OK(pthread_mutex_lock(&m));
    }
    OK(pthread_mutex_unlock(&m));
}

static void cancel_waiter(void *how)
{
    pthread_t t = start(waits_on_condition, how);
    wait_for_waiters(1);
    OK(pthread_cancel(t));
    is_cancelled(t);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_cond_destroy(&c)); /* nobody is left in it */
}

CASE(cond_wait_locks_the_mutex_before_handlers_run)
{
    cancel_waiter(NULL);
}

CASE(cond_timedwait_locks_the_mutex_before_handlers_run)
{
    cancel_waiter(&m);
}

/* The handlers wait until the mutex is free. */
CASE(cond_wait_waits_for_the_mutex_when_cancelled)
{
    pthread_t t = start(waits_on_condition, NULL);
    wait_for_waiters(1);
    OK(pthread_mutex_lock(&m));
    OK(pthread_cancel(t));
    give_way();
    CHECK_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
    OK(pthread_mutex_unlock(&m));
    is_cancelled(t);
}

/* Of two waiters one is cancelled while a signal is sent: it is for the other, or it was taken by
 * the cancelled one, which then had its ticket. */
CASE(cancelled_waiter_does_not_take_a_signal)
{
    for (int i = 0; i < 200; i++) {
        tickets = waiting = 0;
        pthread_t a = start(waits_on_condition, NULL), b = start(waits_on_condition, NULL);
        wait_for_waiters(2);
        OK(pthread_mutex_lock(&m));
        tickets = 1;
        if (i % 2) {
            OK(pthread_cancel(a));
            OK(pthread_cond_signal(&c));
        } else {
            OK(pthread_cond_signal(&c));
            OK(pthread_cancel(a));
        }
        OK(pthread_mutex_unlock(&m));
        if (join(a) == NULL) {
            OK(pthread_mutex_lock(&m));
            tickets++;
            OK(pthread_cond_signal(&c));
            OK(pthread_mutex_unlock(&m));
        }
        CHECK(join(b) == NULL); /* would wait for ever */
        CHECK_EQ(tickets, 0);
    }
}

static sem_t s;

static void *waits_on_semaphore(void *arg)
{
    flag_add(&ready, 1);
    OK(sem_wait(&s));
    return arg;
}

CASE(cancelled_waiter_does_not_take_a_unit)
{
    OK(sem_init(&s, 0, 0));
    for (int i = 0; i < 200; i++) {
        int value;
        flag_set(&ready, 0);
        pthread_t t = start(waits_on_semaphore, NULL);
        flag_wait(&ready, 1);
        if (i % 4 == 0) {
            give_way();
        }
        OK(pthread_cancel(t));
        OK(sem_post(&s));
        bool cancelled = join(t) == PTHREAD_CANCELED;
        OK(sem_getvalue(&s, &value));
        CHECK_EQ(value, cancelled);
        if (cancelled) {
            OK(sem_wait(&s));
        }
    }
}

static pthread_t target;

static void *joins_target(void *arg)
{
    flag_add(&ready, 1);
    OK(pthread_join(target, NULL));
    return arg;
}

static void *waits_for_go(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

CASE(cancelled_joiner_leaves_the_thread_joinable)
{
    target = start(waits_for_go, (void *)7L);
    pthread_t t = start(joins_target, NULL);
    flag_wait(&ready, 1);
    give_way();
    OK(pthread_cancel(t));
    is_cancelled(t);
    flag_set(&go, 1);
    CHECK_EQ((long)join(target), 7);
}

static void *locks_while_cancelled(void *arg)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_barrier_t barrier;
    OK(pthread_barrier_init(&barrier, NULL, 1));
    OK(pthread_cancel(pthread_self()));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_rwlock_init(&lock, NULL));
    OK(pthread_cond_signal(&c));
    OK(sem_post(&s));
    sched_yield();
    flag_set(&passed, 1);
    pthread_testcancel();
    return arg;
}

CASE(others_are_no_cancellation_points)
{
    OK(sem_init(&s, 0, 0));
    is_cancelled(start(locks_while_cancelled, NULL));
    CHECK_EQ(flag_get(&passed), 1);
}

static void *waits_for_mutex(void *arg)
{
    flag_set(&ready, 1);
    OK(pthread_mutex_lock(&m));
    flag_set(&passed, 1);
    OK(pthread_mutex_unlock(&m));
    pthread_testcancel();
    return arg;
}

CASE(mutex_lock_is_not_interrupted)
{
    OK(pthread_mutex_lock(&m));
    pthread_t t = start(waits_for_mutex, NULL);
    flag_wait(&ready, 1);
    give_way();
    OK(pthread_cancel(t));
    give_way();
    CHECK_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
    OK(pthread_mutex_unlock(&m));
    is_cancelled(t);
    CHECK_EQ(flag_get(&passed), 1);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int runs;

static void first_is_cancelled(void)
{
    if (runs++ == 0) {
        flag_set(&ready, 1);
        for (;;) {
            pthread_testcancel();
            sched_yield();
        }
    }
}

static void *calls_once(void *arg)
{
    OK(pthread_once(&once, first_is_cancelled));
    return arg;
}

/* The control is then as if it had never been called. */
CASE(cancelled_once_is_run_again)
{
    pthread_t t = start(calls_once, NULL);
    flag_wait(&ready, 1);
    pthread_t waiter = start(calls_once, (void *)8L);
    give_way();
    OK(pthread_cancel(t));
    is_cancelled(t);
    CHECK_EQ((long)join(waiter), 8);
    CHECK_EQ(runs, 2);
    OK(pthread_once(&once, first_is_cancelled));
    CHECK_EQ(runs, 2);
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
