/* SPDX-License-Identifier: MIT */
/* cancel_waits.c - threads that are cancelled while they wait: the objects that they hold, leave
 * and take. */
#include "harness.h"

#include <semaphore.h>

static flag_t ready, go, passed;

static void is_cancelled(pthread_t t)
{
    CHECK(join(t) == PTHREAD_CANCELED);
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
    OK(pthread_cond_destroy(&c)); /* no thread is left in it */
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

/* One of two waiters is cancelled while a signal is sent. The signal goes to the other one, or the
 * cancelled one has taken it and had its ticket. */
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
