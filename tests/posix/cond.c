/* SPDX-License-Identifier: MIT */
/* cond.c - condition variables: wake-ups, time-outs, clocks, owners, destruction. */
#include "check.h"

#define THREADS 16

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int tickets, waiting, served;

static void *takes_ticket(void *arg)
{
    OK(pthread_mutex_lock(&m));
    waiting++;
    while (tickets == 0) {
        OK(pthread_cond_wait(&c, &m));
    }
    tickets--;
    served++;
    OK(pthread_mutex_unlock(&m));
    return arg;
}

static void wait_for(int *what, int at_least)
{
    OK(pthread_mutex_lock(&m));
    while (*what < at_least) {
        OK(pthread_mutex_unlock(&m));
        sched_yield();
        OK(pthread_mutex_lock(&m));
    }
    OK(pthread_mutex_unlock(&m));
}

static void serve(bool broadcast)
{
    pthread_t t[THREADS];
    tickets = waiting = served = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(takes_ticket, NULL);
    }
    wait_for(&waiting, THREADS);
    OK(pthread_mutex_lock(&m));
    if (broadcast) {
        tickets = THREADS;
        OK(pthread_cond_broadcast(&c));
    }
    OK(pthread_mutex_unlock(&m));
    for (int i = 0; i < THREADS && !broadcast; i++) {
        OK(pthread_mutex_lock(&m));
        tickets++;
        OK(pthread_cond_signal(&c));
        OK(pthread_mutex_unlock(&m));
        wait_for(&served, i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(served, THREADS);
}

static void test_signal_wakes_one_for_each(void)
{
    serve(false);
}

static void test_broadcast_wakes_all(void)
{
    serve(true);
}

static void test_signal_without_waiter_is_lost(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    OK(pthread_cond_signal(&c));
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    OK(pthread_mutex_unlock(&m));
}

static int trylock_result;

static void *tries(void *arg)
{
    trylock_result = pthread_mutex_trylock(&m);
    if (trylock_result == 0) {
        OK(pthread_mutex_unlock(&m));
    }
    return arg;
}

static void test_timeout_returns_with_the_mutex_held(void)
{
    struct timespec past = {.tv_sec = 1};
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
    join(start(tries, NULL));
    CHECK_EQ(trylock_result, EBUSY);
    OK(pthread_mutex_unlock(&m));
}

static void test_bad_times_are_refused(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 1000);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), EINVAL);
    OK(pthread_mutex_unlock(&m));
}

static void test_the_attribute_chooses_the_clock(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    for (int i = 0; i < 2; i++) {
        pthread_condattr_t a;
        pthread_cond_t own;
        clockid_t got;
        OK(pthread_condattr_init(&a));
        OK(pthread_condattr_getclock(&a, &got));
        CHECK_EQ(got, CLOCK_REALTIME);
        OK(pthread_condattr_setclock(&a, clocks[i]));
        OK(pthread_condattr_getclock(&a, &got));
        CHECK_EQ(got, clocks[i]);
        CHECK_EQ(pthread_condattr_setclock(&a, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
        OK(pthread_cond_init(&own, &a));
        OK(pthread_condattr_destroy(&a));
        struct timespec at = after_ms(clocks[i], 5);
        OK(pthread_mutex_lock(&m));
        CHECK_EQ(pthread_cond_timedwait(&own, &m, &at), ETIMEDOUT);
        CHECK(has_passed(clocks[i], &at));
        at = after_ms(CLOCK_MONOTONIC, 5);
        CHECK_EQ(pthread_cond_clockwait(&own, &m, CLOCK_MONOTONIC, &at), ETIMEDOUT);
        CHECK(has_passed(CLOCK_MONOTONIC, &at));
        OK(pthread_mutex_unlock(&m));
        OK(pthread_cond_destroy(&own));
    }
}

static void *takes_ticket_timed(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 60000);
    OK(pthread_mutex_lock(&m));
    waiting++;
    while (tickets == 0) {
        OK(pthread_cond_timedwait(&c, &m, &at));
    }
    tickets--;
    OK(pthread_mutex_unlock(&m));
    return arg;
}

static void test_timedwait_is_woken_before_its_time(void)
{
    tickets = waiting = 0;
    pthread_t t = start(takes_ticket_timed, NULL);
    wait_for(&waiting, 1);
    OK(pthread_mutex_lock(&m));
    tickets++;
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(&m));
    join(t);
}

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *signals_through(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    tickets = 1;
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(mutex));
    return NULL;
}

static void wait_with_owner(pthread_mutex_t *mutex)
{
    tickets = 0;
    OK(pthread_mutex_lock(mutex));
    pthread_t t = start(signals_through, mutex);
    while (tickets == 0) {
        OK(pthread_cond_wait(&c, mutex));
    }
    OK(pthread_mutex_unlock(mutex)); /* EPERM if the owner were not restored */
    CHECK_EQ(pthread_mutex_unlock(mutex), EPERM);
    join(t);
}

static void test_mutexes_with_owner_are_given_back(void)
{
    wait_with_owner(&recursive);
    wait_with_owner(&errorcheck);
}

static void test_wait_returns_eperm_without_the_mutex(void)
{
    CHECK_EQ(pthread_cond_wait(&c, &errorcheck), EPERM);
}

/* POSIX: after a broadcast nobody is blocked on it, so it may be destroyed at once. */
struct round {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int waiting, gone;
    bool open, timed;
};

static void *passes(void *arg)
{
    struct round *r = arg;
    struct timespec at = after_ms(CLOCK_REALTIME, 1);
    OK(pthread_mutex_lock(&r->mutex));
    r->waiting++;
    while (!r->open) {
        int error = r->timed ? pthread_cond_timedwait(&r->cond, &r->mutex, &at)
                             : pthread_cond_wait(&r->cond, &r->mutex);
        CHECK(error == 0 || error == ETIMEDOUT);
        if (error == ETIMEDOUT) {
            break;
        }
    }
    r->gone++;
    OK(pthread_mutex_unlock(&r->mutex));
    return NULL;
}

static void destroy_round(bool timed)
{
    struct round r = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false, timed};
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(passes, &r);
    }
    for (int n = 0; n < 4;) {
        OK(pthread_mutex_lock(&r.mutex));
        n = r.waiting;
        OK(pthread_mutex_unlock(&r.mutex));
        sched_yield();
    }
    OK(pthread_mutex_lock(&r.mutex));
    r.open = true;
    OK(pthread_cond_broadcast(&r.cond));
    OK(pthread_mutex_unlock(&r.mutex));
    OK(pthread_cond_destroy(&r.cond));
    memset(&r.cond, 0xee, sizeof(r.cond));
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

static void test_destroy_may_follow_broadcast_at_once(void)
{
    for (int i = 0; i < 200; i++) {
        destroy_round(false);
    }
}

static void test_destroy_may_follow_broadcast_while_waits_time_out(void)
{
    for (int i = 0; i < 100; i++) {
        destroy_round(true);
    }
}

int main(void)
{
    RUN(test_signal_wakes_one_for_each);
    RUN(test_broadcast_wakes_all);
    RUN(test_signal_without_waiter_is_lost);
    RUN(test_timeout_returns_with_the_mutex_held);
    RUN(test_bad_times_are_refused);
    RUN(test_the_attribute_chooses_the_clock);
    RUN(test_timedwait_is_woken_before_its_time);
    RUN(test_mutexes_with_owner_are_given_back);
    RUN(test_wait_returns_eperm_without_the_mutex);
    RUN(test_destroy_may_follow_broadcast_at_once);
    RUN(test_destroy_may_follow_broadcast_while_waits_time_out);
    return 0;
}
