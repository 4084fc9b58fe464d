/* SPDX-License-Identifier: MIT */
/* cond.c - condition variables: wake-ups, time-outs, clocks, owners, destruction, attributes. */
#include "harness.h"

#include <sys/mman.h>

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

static void give(int n)
{
    OK(pthread_mutex_lock(&m));
    tickets += n;
    OK(n == 1 ? pthread_cond_signal(&c) : pthread_cond_broadcast(&c));
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
    if (broadcast) {
        give(THREADS);
    }
    for (int i = 0; i < THREADS && !broadcast; i++) {
        give(1);
        wait_for(&served, i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK_EQ(served, THREADS);
}

CASE(signal_wakes_one_for_each)
{
    serve(false);
}

CASE(broadcast_wakes_all)
{
    serve(true);
}

CASE(zeroed_memory_is_a_condition_variable)
{
    memset(&c, 0, sizeof(c));
    serve(true);
    serve(false);
}

CASE(init_makes_one_of_any_memory)
{
    memset(&c, 0xa5, sizeof(c));
    OK(pthread_cond_init(&c, NULL));
    serve(true);
    OK(pthread_cond_destroy(&c));
    OK(pthread_cond_init(&c, NULL));
    serve(false);
    OK(pthread_cond_destroy(&c));
}

/* Also without holding the mutex. */
CASE(signal_without_the_mutex)
{
    pthread_t t = start(takes_ticket, NULL);
    wait_for(&waiting, 1);
    OK(pthread_mutex_lock(&m)); /* now it waits */
    tickets = 1;
    OK(pthread_mutex_unlock(&m));
    OK(pthread_cond_signal(&c));
    join(t);
}

CASE(signal_without_waiter_is_lost)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    OK(pthread_cond_signal(&c));
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    OK(pthread_mutex_unlock(&m));
}

static void *waits_late(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 1);
    OK(pthread_mutex_lock(&m));
    OK_OR(pthread_cond_timedwait(&c, &m, &at), ETIMEDOUT);
    OK(pthread_mutex_unlock(&m));
    return arg;
}

/* A thread that begins to wait after the signal does not take it from an earlier waiter. */
CASE(signal_goes_to_those_that_wait_already)
{
    for (int i = 0; i < 50; i++) {
        tickets = waiting = served = 0;
        pthread_t early = start(takes_ticket, NULL);
        wait_for(&waiting, 1);
        OK(pthread_mutex_lock(&m));
        pthread_t late = start(waits_late, NULL);
        tickets = 1;
        OK(pthread_cond_signal(&c));
        OK(pthread_mutex_unlock(&m));
        join(early); /* would wait for ever */
        join(late);
    }
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

CASE(wait_releases_the_mutex)
{
    pthread_t t = start(takes_ticket, NULL);
    wait_for(&waiting, 1);
    OK(pthread_mutex_lock(&m)); /* would not be possible while it holds it */
    tickets = 1;
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(&m));
    join(t);
}

CASE(timedwait_returns_with_the_mutex_held)
{
    struct timespec past = {.tv_sec = 1};
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
    in_thread(tries, NULL);
    CHECK_EQ(trylock_result, EBUSY);
    OK(pthread_mutex_unlock(&m));
}

static void *holds_a_while(void *arg)
{
    OK(pthread_mutex_lock(&m));
    waiting = 1;
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_lock(&m)); /* until the other waits */
    give_way();
    usleep(10000);
    served = 1;
    OK(pthread_mutex_unlock(&m));
    return arg;
}

/* The time-out is for the wait, not for the mutex. */
CASE(timedwait_waits_for_the_mutex_after_its_time)
{
    struct timespec at;
    pthread_t t;
    OK(pthread_mutex_lock(&m));
    t = start(holds_a_while, NULL);
    OK(pthread_mutex_unlock(&m));
    wait_for(&waiting, 1);
    OK(pthread_mutex_lock(&m));
    if (served == 0) {
        at = after_ms(CLOCK_REALTIME, 1);
        CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), ETIMEDOUT);
    }
    OK(pthread_mutex_unlock(&m));
    join(t);
}

CASE(timedwait_is_etimedout_for_a_past_time)
{
    static const time_t pasts[] = {0, 1, -1};
    OK(pthread_mutex_lock(&m));
    for (size_t i = 0; i < COUNT(pasts); i++) {
        struct timespec at = {.tv_sec = pasts[i]};
        CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), ETIMEDOUT);
        CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    }
    OK(pthread_mutex_unlock(&m));
}

CASE(timedwait_is_einval_for_bad_nanoseconds)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_mutex_lock(&m));
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), EINVAL);
    CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_cond_timedwait(&c, &m, &at), EINVAL);
    CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at), EINVAL);
    in_thread(tries, NULL);
    CHECK_EQ(trylock_result, EBUSY); /* held throughout */
    OK(pthread_mutex_unlock(&m));
}

CASE(clockwait_is_einval_for_other_clocks)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_cond_clockwait(&c, &m, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    OK(pthread_mutex_unlock(&m));
}

static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

CASE(attribute_chooses_the_clock)
{
    for (size_t i = 0; i < COUNT(clocks); i++) {
        pthread_condattr_t a;
        pthread_cond_t own;
        OK(pthread_condattr_init(&a));
        OK(pthread_condattr_setclock(&a, clocks[i]));
        OK(pthread_cond_init(&own, &a));
        OK(pthread_condattr_destroy(&a));
        OK(pthread_mutex_lock(&m));
        for (int ms = 0; ms < 10; ms += 3) {
            struct timespec at = after_ms(clocks[i], ms);
            CHECK_EQ(pthread_cond_timedwait(&own, &m, &at), ETIMEDOUT);
            CHECK(has_passed(clocks[i], &at));
        }
        OK(pthread_mutex_unlock(&m));
        OK(pthread_cond_destroy(&own));
    }
}

CASE(clockwait_takes_the_clock_it_is_given)
{
    OK(pthread_mutex_lock(&m));
    for (size_t i = 0; i < COUNT(clocks); i++) {
        for (int ms = 0; ms < 10; ms += 3) {
            struct timespec at = after_ms(clocks[i], ms);
            CHECK_EQ(pthread_cond_clockwait(&c, &m, clocks[i], &at), ETIMEDOUT);
            CHECK(has_passed(clocks[i], &at));
        }
    }
    OK(pthread_mutex_unlock(&m));
}

static void *takes_ticket_timed(void *clock)
{
    OK(pthread_mutex_lock(&m));
    waiting++;
    struct timespec at = after_ms(clock != NULL ? CLOCK_MONOTONIC : CLOCK_REALTIME, LONG_MS);
    while (tickets == 0) {
        OK(clock != NULL ? pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at)
                         : pthread_cond_timedwait(&c, &m, &at));
    }
    tickets--;
    OK(pthread_mutex_unlock(&m));
    return NULL;
}

CASE(timed_waits_are_woken_before_their_time)
{
    pthread_t t = start(takes_ticket_timed, NULL), u = start(takes_ticket_timed, &m);
    wait_for(&waiting, 2);
    give(1);
    give(2); /* broadcast */
    join(t);
    join(u);
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

CASE(wait_gives_mutexes_with_owner_back)
{
    wait_with_owner(&recursive);
    wait_with_owner(&errorcheck);
}

CASE(wait_is_eperm_when_errorcheck_is_not_held)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    CHECK_EQ(pthread_cond_wait(&c, &errorcheck), EPERM);
    CHECK_EQ(pthread_cond_timedwait(&c, &errorcheck, &at), EPERM);
    CHECK_EQ(pthread_cond_clockwait(&c, &errorcheck, CLOCK_REALTIME, &at), EPERM);
}

/* POSIX: after a broadcast no thread is blocked on it, so it may be destroyed at once, and its
 * memory released. */
struct round {
    pthread_mutex_t mutex;
    pthread_cond_t *cond;
    int waiting;
    bool open, timed;
};

static void *passes(void *arg)
{
    struct round *r = arg;
    struct timespec at = after_ms(CLOCK_REALTIME, 1);
    OK(pthread_mutex_lock(&r->mutex));
    r->waiting++;
    while (!r->open) {
        int error = r->timed ? pthread_cond_timedwait(r->cond, &r->mutex, &at)
                             : pthread_cond_wait(r->cond, &r->mutex);
        OK_OR(error, ETIMEDOUT);
        if (error == ETIMEDOUT) {
            break;
        }
    }
    OK(pthread_mutex_unlock(&r->mutex));
    return NULL;
}

static void destroy_round(bool timed)
{
    struct round r = {.mutex = PTHREAD_MUTEX_INITIALIZER, .timed = timed};
    pthread_t t[4];
    r.cond =
        mmap(NULL, sizeof(*r.cond), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(r.cond != MAP_FAILED);
    OK(pthread_cond_init(r.cond, NULL));
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
    OK(pthread_cond_broadcast(r.cond));
    OK(pthread_mutex_unlock(&r.mutex));
    OK(pthread_cond_destroy(r.cond));
    OK(munmap(r.cond, sizeof(*r.cond)));
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

CASE(destroy_may_follow_broadcast_at_once)
{
    for (int i = 0; i < 200; i++) {
        destroy_round(false);
    }
}

CASE(destroy_may_follow_broadcast_while_waits_time_out)
{
    for (int i = 0; i < 100; i++) {
        destroy_round(true);
    }
}

/* Waits that time out while signals are sent: each signal that found a waiter woke one. */
static int units, taken;

static void *takes_units(void *arg)
{
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(&m));
        struct timespec at = after_ms(CLOCK_REALTIME, i % 2);
        while (units == 0 && pthread_cond_timedwait(&c, &m, &at) == 0) {
        }
        if (units > 0) {
            units--;
            taken++;
        }
        OK(pthread_mutex_unlock(&m));
    }
    return arg;
}

CASE(signals_race_with_timeouts)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(takes_units, NULL);
    }
    for (int i = 0; i < 200; i++) {
        OK(pthread_mutex_lock(&m));
        units++;
        OK(pthread_cond_signal(&c));
        OK(pthread_mutex_unlock(&m));
        sched_yield();
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    CHECK_EQ(units + taken, 200);
}

CASE(condattr_init_sets_defaults)
{
    pthread_condattr_t a;
    clockid_t clock;
    int shared;
    memset(&a, 0xa5, sizeof(a));
    OK(pthread_condattr_init(&a));
    OK(pthread_condattr_getclock(&a, &clock));
    CHECK_EQ(clock, CLOCK_REALTIME);
    OK(pthread_condattr_getpshared(&a, &shared));
    CHECK_EQ(shared, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_condattr_destroy(&a));
    OK(pthread_condattr_init(&a));
    OK(pthread_condattr_destroy(&a));
}

CASE(condattr_clock_is_kept)
{
    pthread_condattr_t a;
    clockid_t got;
    OK(pthread_condattr_init(&a));
    OK(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
    OK(pthread_condattr_getclock(&a, &got));
    CHECK_EQ(got, CLOCK_MONOTONIC);
    OK(pthread_condattr_setclock(&a, CLOCK_REALTIME));
    OK(pthread_condattr_getclock(&a, &got));
    CHECK_EQ(got, CLOCK_REALTIME);
    OK(pthread_condattr_destroy(&a));
}

CASE(condattr_clock_is_einval_for_other_clocks)
{
    pthread_condattr_t a;
    clockid_t got;
    OK(pthread_condattr_init(&a));
    CHECK_EQ(pthread_condattr_setclock(&a, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
    CHECK_EQ(pthread_condattr_setclock(&a, CLOCK_THREAD_CPUTIME_ID), EINVAL);
    CHECK_EQ(pthread_condattr_setclock(&a, 1234), EINVAL);
    OK(pthread_condattr_getclock(&a, &got));
    CHECK_EQ(got, CLOCK_REALTIME);
    OK(pthread_condattr_destroy(&a));
}

CASE(condattr_pshared_is_kept)
{
    pthread_condattr_t a;
    clockid_t clock;
    int got;
    OK(pthread_condattr_init(&a));
    OK(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
    OK(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_getpshared(&a, &got));
    CHECK_EQ(got, PTHREAD_PROCESS_SHARED);
    OK(pthread_condattr_getclock(&a, &clock));
    CHECK_EQ(clock, CLOCK_MONOTONIC);
    OK(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_condattr_getpshared(&a, &got));
    CHECK_EQ(got, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_condattr_destroy(&a));
}

CASE(condattr_pshared_is_einval_for_other_values)
{
    pthread_condattr_t a;
    OK(pthread_condattr_init(&a));
    CHECK_EQ(pthread_condattr_setpshared(&a, 77), EINVAL);
    CHECK_EQ(pthread_condattr_setpshared(&a, -1), EINVAL);
    OK(pthread_condattr_destroy(&a));
}

CASE(init_needs_no_memory)
{
    enum { N = 200000 };
    pthread_cond_t *all = malloc(N * sizeof(*all));
    void *before = sbrk(0);
    for (int i = 0; i < N; i++) {
        OK(pthread_cond_init(&all[i], NULL));
        OK(pthread_cond_signal(&all[i]));
    }
    CHECK(sbrk(0) == before);
    free(all);
}
