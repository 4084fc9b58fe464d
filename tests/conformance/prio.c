/* SPDX-License-Identifier: MIT */
/*
 * prio.c - mutexes with priority inheritance and ceilings. SCHED_FIFO on one CPU shows their effect
 * on scheduling, because there it is certain which thread runs.
 */
#include "harness.h"

#define LOW 10
#define MIDDLE 20
#define HIGH 30

static void init(pthread_mutex_t *m, int type, int protocol, int ceiling)
{
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setprotocol(&a, protocol));
    if (protocol == PTHREAD_PRIO_PROTECT) {
        OK(pthread_mutexattr_setprioceiling(&a, ceiling));
    }
    OK(pthread_mutex_init(m, &a));
    OK(pthread_mutexattr_destroy(&a));
}

static pthread_mutex_t m;
static long counter;

static void *counts(void *arg)
{
    for (int i = 0; i < 500; i++) {
        OK(pthread_mutex_lock(&m));
        long seen = counter;
        if (i % 8 == 0) {
            sched_yield();
        }
        counter = seen + 1;
        OK(pthread_mutex_unlock(&m));
    }
    return arg;
}

static void excludes(void)
{
    pthread_t t[6];
    counter = 0;
    for (int i = 0; i < 6; i++) {
        t[i] = start(counts, NULL);
    }
    for (int i = 0; i < 6; i++) {
        join(t[i]);
    }
    CHECK_EQ(counter, 6 * 500);
}

static void *tries(void *arg)
{
    (void)arg;
    return (void *)(long)pthread_mutex_trylock(&m);
}

static void *times_out(void *arg)
{
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    (void)arg;
    long error = pthread_mutex_timedlock(&m, &at);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    return (void *)error;
}

static void behaves_as_any_mutex(int protocol, int ceiling)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK};
    for (size_t i = 0; i < COUNT(types); i++) {
        init(&m, types[i], protocol, ceiling);
        excludes();
        OK(pthread_mutex_lock(&m));
        CHECK_EQ((long)in_thread(tries, NULL), EBUSY);
        CHECK_EQ((long)in_thread(times_out, NULL), ETIMEDOUT);
        if (types[i] == PTHREAD_MUTEX_ERRORCHECK) {
            CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
        }
        if (types[i] == PTHREAD_MUTEX_RECURSIVE) {
            OK(pthread_mutex_lock(&m));
            OK(pthread_mutex_unlock(&m));
        }
        OK(pthread_mutex_unlock(&m));
        if (types[i] != PTHREAD_MUTEX_NORMAL) {
            CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
        }
        OK(pthread_mutex_destroy(&m));
    }
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *takes_turns(void *arg)
{
    for (int i = 0; i < 50; i++) {
        OK(pthread_mutex_lock(&m));
        while (turn % 4 != (int)(long)arg) {
            OK(pthread_cond_wait(&cond, &m));
        }
        turn++;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(&m));
    }
    return NULL;
}

static void serve_conditions(int protocol, int ceiling)
{
    pthread_t t[4];
    turn = 0;
    init(&m, PTHREAD_MUTEX_ERRORCHECK, protocol, ceiling);
    for (long i = 0; i < 4; i++) {
        t[i] = start(takes_turns, (void *)i);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    CHECK_EQ(turn, 4 * 50);
    OK(pthread_mutex_lock(&m));
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_cond_timedwait(&cond, &m, &at), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_destroy(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(inherit_serves_conditions)
{
    serve_conditions(PTHREAD_PRIO_INHERIT, 0);
}

#ifdef ON_PIRN
/* With glibc a thread of SCHED_OTHER cannot lock such a mutex. */
CASE(protect_is_a_mutex_for_other_threads)
{
    behaves_as_any_mutex(PTHREAD_PRIO_PROTECT, HIGH);
    serve_conditions(PTHREAD_PRIO_PROTECT, HIGH);
}

CASE(ceiling_can_be_changed_by_other_threads)
{
    int got;
    init(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_setprioceiling(&m, HIGH, &got));
    CHECK_EQ(got, MIDDLE);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_setprioceiling(&m, LOW, &got), EDEADLK);
    OK(pthread_mutex_unlock(&m));
    init(&m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_setprioceiling(&m, HIGH, &got));
    CHECK_EQ((long)in_thread(tries, NULL), EBUSY);
    OK(pthread_mutex_unlock(&m));
}
#endif

CASE(inherit_is_a_mutex)
{
    behaves_as_any_mutex(PTHREAD_PRIO_INHERIT, 0);
}

static void set_priority(int priority)
{
    struct sched_param param = {.sched_priority = priority};
    OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
}

/* Ceilings are priorities of SCHED_FIFO, which takes a privilege. */
static void need_realtime(void)
{
    struct sched_param param = {.sched_priority = LOW};
    int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    if (error == EPERM && geteuid() != 0) {
        case_unsupported("SCHED_FIFO needs a privilege (EPERM)");
    }
    OK(error);
}

CASE(protect_is_a_mutex)
{
    need_realtime();
    behaves_as_any_mutex(PTHREAD_PRIO_PROTECT, HIGH);
}

static pthread_t start_fifo(int priority, void *(*fn)(void *), void *arg)
{
    struct sched_param param = {.sched_priority = priority};
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    OK(pthread_attr_setschedparam(&a, &param));
    pthread_t t = start_with(&a, fn, arg);
    OK(pthread_attr_destroy(&a));
    return t;
}

static flag_t high_has_it, middle_ran;

static void *high_locks(void *arg)
{
    OK(pthread_mutex_lock(&m));
    flag_set(&high_has_it, 1);
    OK(pthread_mutex_unlock(&m));
    return arg;
}

/* Keeps the CPU until the high thread has its mutex. */
static void *middle_spins(void *arg)
{
    flag_set(&middle_ran, 1);
    while (flag_get(&high_has_it) == 0) {
    }
    return arg;
}

/* Without inheritance the middle thread would keep the low one from unlocking, for ever. */
CASE(inherit_lends_the_priority_of_the_waiter)
{
    need_realtime();
    need_one_cpu();
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    OK(pthread_mutex_lock(&m));
    pthread_t high = start_fifo(HIGH, high_locks, NULL); /* runs at once, and waits */
    pthread_t middle = start_fifo(MIDDLE, middle_spins, NULL);
    CHECK_EQ(flag_get(&middle_ran), 0); /* we run at HIGH */
    CHECK_EQ(flag_get(&high_has_it), 0);
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(flag_get(&high_has_it), 1);
    join(high);
    join(middle);
}

static pthread_mutex_t inner, outer;
static flag_t holds_inner;

static void *middle_waits_for_inner(void *arg)
{
    OK(pthread_mutex_lock(&outer));
    OK(pthread_mutex_lock(&inner));
    OK(pthread_mutex_unlock(&inner));
    OK(pthread_mutex_unlock(&outer));
    return arg;
}

static void *high_waits_for_outer(void *arg)
{
    OK(pthread_mutex_lock(&outer));
    flag_set(&high_has_it, 1);
    OK(pthread_mutex_unlock(&outer));
    return arg;
}

/* HIGH waits for LOW + 2, which waits for LOW: LOW runs before MIDDLE. */
CASE(inherit_goes_along_a_chain)
{
    need_realtime();
    need_one_cpu();
    init(&inner, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    init(&outer, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    OK(pthread_mutex_lock(&inner));
    pthread_t next = start_fifo(LOW + 2, middle_waits_for_inner, NULL);
    pthread_t high = start_fifo(HIGH, high_waits_for_outer, NULL);
    pthread_t middle = start_fifo(MIDDLE, middle_spins, NULL);
    CHECK_EQ(flag_get(&middle_ran), 0);
    OK(pthread_mutex_unlock(&inner));
    CHECK_EQ(flag_get(&high_has_it), 1);
    join(next);
    join(high);
    join(middle);
}

/* The holder runs at the ceiling, whichever threads wait. */
CASE(protect_raises_the_holder_to_the_ceiling)
{
    need_realtime();
    need_one_cpu();
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, HIGH);
    flag_set(&high_has_it, 1); /* the middle thread does not spin */
    OK(pthread_mutex_lock(&m));
    pthread_t middle = start_fifo(MIDDLE, middle_spins, NULL);
    CHECK_EQ(flag_get(&middle_ran), 0);
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(flag_get(&middle_ran), 1); /* and not longer */
    join(middle);
}

/* With two mutexes the higher ceiling counts; releasing it leaves the other. */
CASE(protect_takes_the_highest_ceiling_held)
{
    need_realtime();
    need_one_cpu();
    init(&inner, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, HIGH + 10);
    init(&outer, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE + 1);
    flag_set(&high_has_it, 1);
    OK(pthread_mutex_lock(&outer));
    OK(pthread_mutex_lock(&inner));
    pthread_t high = start_fifo(HIGH, middle_spins, NULL);
    CHECK_EQ(flag_get(&middle_ran), 0);
    OK(pthread_mutex_unlock(&inner));
    CHECK_EQ(flag_get(&middle_ran), 1);
    join(high);
    flag_set(&middle_ran, 0);
    pthread_t middle = start_fifo(MIDDLE, middle_spins, NULL);
    CHECK_EQ(flag_get(&middle_ran), 0);
    OK(pthread_mutex_unlock(&outer));
    CHECK_EQ(flag_get(&middle_ran), 1);
    join(middle);
}

CASE(protect_is_einval_above_the_ceiling)
{
    need_realtime();
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE);
    set_priority(HIGH);
    CHECK_EQ(pthread_mutex_lock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_trylock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_timedlock(&m, &at), EINVAL);
    set_priority(MIDDLE);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
}

CASE(ceiling_is_kept)
{
    int got;
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_getprioceiling(&m, &got));
    CHECK_EQ(got, MIDDLE);
}

CASE(ceiling_can_be_changed)
{
    int got = 0;
    need_realtime();
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_setprioceiling(&m, HIGH, &got));
    CHECK_EQ(got, MIDDLE);
    OK(pthread_mutex_getprioceiling(&m, &got));
    CHECK_EQ(got, HIGH);
    OK(pthread_mutex_setprioceiling(&m, LOW, &got));
    OK(pthread_mutex_getprioceiling(&m, &got));
    CHECK_EQ(got, LOW);
    set_priority(LOW);
    OK(pthread_mutex_trylock(&m)); /* it was released */
    OK(pthread_mutex_unlock(&m));
}

CASE(ceiling_is_einval_without_protect)
{
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    int got;
    CHECK_EQ(pthread_mutex_getprioceiling(&plain, &got), EINVAL);
    CHECK_EQ(pthread_mutex_setprioceiling(&plain, MIDDLE, &got), EINVAL);
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    CHECK_EQ(pthread_mutex_getprioceiling(&m, &got), EINVAL);
    CHECK_EQ(pthread_mutex_setprioceiling(&m, MIDDLE, &got), EINVAL);
}

CASE(ceiling_is_einval_outside_the_range)
{
    int got;
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE);
    CHECK_EQ(pthread_mutex_setprioceiling(&m, sched_get_priority_max(SCHED_FIFO) + 1, &got),
             EINVAL);
    CHECK_EQ(pthread_mutex_setprioceiling(&m, sched_get_priority_min(SCHED_FIFO) - 1, &got),
             EINVAL);
    OK(pthread_mutex_getprioceiling(&m, &got));
    CHECK_EQ(got, MIDDLE);
}

CASE(ceiling_is_edeadlk_when_errorcheck_is_held)
{
    int got;
    need_realtime();
    init(&m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_lock(&m));
    CHECK_EQ(pthread_mutex_setprioceiling(&m, HIGH, &got), EDEADLK);
    OK(pthread_mutex_unlock(&m));
}

CASE(ceiling_can_be_changed_when_recursive_is_held)
{
    int got;
    need_realtime();
    init(&m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_PROTECT, MIDDLE);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_setprioceiling(&m, HIGH, &got));
    CHECK_EQ(got, MIDDLE);
    OK(pthread_mutex_unlock(&m));
    CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
}

static void *holds(void *arg)
{
    OK(pthread_mutex_lock(&m));
    flag_set(&holds_inner, 1);
    flag_wait(&holds_inner, 2);
    OK(pthread_mutex_unlock(&m));
    return arg;
}

CASE(changing_the_ceiling_waits_for_the_holder)
{
    int got;
    need_realtime();
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, MIDDLE);
    pthread_t t = start(holds, NULL);
    flag_wait(&holds_inner, 1);
    flag_set(&holds_inner, 2);
    OK(pthread_mutex_setprioceiling(&m, HIGH, &got));
    CHECK_EQ(got, MIDDLE);
    join(t);
}
