/* SPDX-License-Identifier: MIT */
/* join.c - GNU: joining without waiting, or until a time; names of threads. */
#include "harness.h"

static flag_t go, waiting;

static void *waits_for_go(void *arg)
{
    flag_add(&waiting, 1);
    flag_wait(&go, 1);
    return arg;
}

CASE(tryjoin_is_ebusy_until_the_end)
{
    pthread_t t = start(waits_for_go, (void *)5L);
    void *ret = NULL;
    flag_wait(&waiting, 1);
    CHECK_EQ(pthread_tryjoin_np(t, &ret), EBUSY);
    flag_set(&go, 1);
    int error;
    while ((error = pthread_tryjoin_np(t, &ret)) == EBUSY) {
        sched_yield();
    }
    OK(error);
    CHECK_EQ((long)ret, 5);
}

CASE(tryjoin_of_oneself_is_refused)
{
    int error = pthread_tryjoin_np(pthread_self(), NULL);
    CHECK(error == EBUSY || error == EDEADLK);
}

CASE(tryjoin_discards_the_value_when_not_asked)
{
    flag_set(&go, 1);
    pthread_t t = start(waits_for_go, NULL);
    int error;
    while ((error = pthread_tryjoin_np(t, NULL)) == EBUSY) {
        sched_yield();
    }
    OK(error);
}

CASE(timedjoin_is_etimedout_and_can_be_repeated)
{
    pthread_t t = start(waits_for_go, (void *)6L);
    void *ret = NULL;
    for (int i = 0; i < 3; i++) {
        struct timespec at = after_ms(CLOCK_REALTIME, 3);
        CHECK_EQ(pthread_timedjoin_np(t, &ret, &at), ETIMEDOUT);
        CHECK(has_passed(CLOCK_REALTIME, &at));
    }
    struct timespec past = {.tv_sec = 1};
    CHECK_EQ(pthread_timedjoin_np(t, &ret, &past), ETIMEDOUT);
    flag_set(&go, 1);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    OK(pthread_timedjoin_np(t, &ret, &at));
    CHECK_EQ((long)ret, 6);
}

CASE(clockjoin_takes_the_clock_it_is_given)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
    pthread_t t = start(waits_for_go, (void *)7L);
    void *ret = NULL;
    for (size_t i = 0; i < COUNT(clocks); i++) {
        struct timespec at = after_ms(clocks[i], 3);
        CHECK_EQ(pthread_clockjoin_np(t, &ret, clocks[i], &at), ETIMEDOUT);
        CHECK(has_passed(clocks[i], &at));
    }
    flag_set(&go, 1);
    struct timespec at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    OK(pthread_clockjoin_np(t, &ret, CLOCK_MONOTONIC, &at));
    CHECK_EQ((long)ret, 7);
}

CASE(timedjoin_without_a_time_waits)
{
    pthread_t t = start(waits_for_go, (void *)8L);
    void *ret = NULL;
    flag_set(&go, 1);
    OK(pthread_timedjoin_np(t, &ret, NULL));
    CHECK_EQ((long)ret, 8);
}

CASE(timedjoin_is_einval_for_bad_nanoseconds)
{
    pthread_t t = start(waits_for_go, NULL);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    flag_wait(&waiting, 1);
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_timedjoin_np(t, NULL, &at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_timedjoin_np(t, NULL, &at), EINVAL);
    CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &at), EINVAL);
    flag_set(&go, 1);
    join(t);
}

CASE(clockjoin_is_einval_for_other_clocks)
{
    pthread_t t = start(waits_for_go, NULL);
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    flag_set(&go, 1);
    join(t);
}

CASE(timedjoin_is_edeadlk_when_joining_oneself)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    CHECK_EQ(pthread_timedjoin_np(pthread_self(), NULL, &at), EDEADLK);
    at = after_ms(CLOCK_MONOTONIC, LONG_MS);
    CHECK_EQ(pthread_clockjoin_np(pthread_self(), NULL, CLOCK_MONOTONIC, &at), EDEADLK);
}

CASE(timedjoin_is_einval_for_a_detached_thread)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_detach(t));
    CHECK_EQ(pthread_timedjoin_np(t, NULL, &at), EINVAL);
    CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_REALTIME, &at), EINVAL);
    flag_wait(&waiting, 1);
}

CASE(name_is_kept)
{
    char name[16];
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_setname_np(t, "fifteen-letters"));
    OK(pthread_getname_np(t, name, sizeof(name)));
    OK(strcmp(name, "fifteen-letters"));
    OK(pthread_setname_np(t, ""));
    OK(pthread_getname_np(t, name, sizeof(name)));
    OK(strcmp(name, ""));
    OK(pthread_setname_np(pthread_self(), "me"));
    OK(pthread_getname_np(pthread_self(), name, sizeof(name)));
    OK(strcmp(name, "me"));
    flag_set(&go, 1);
    join(t);
}

CASE(name_is_erange_when_it_does_not_fit)
{
    char name[16];
    OK(pthread_setname_np(pthread_self(), "short"));
    CHECK_EQ(pthread_setname_np(pthread_self(), "sixteen-letters-"), ERANGE);
    CHECK_EQ(pthread_getname_np(pthread_self(), name, 3), ERANGE);
    OK(pthread_getname_np(pthread_self(), name, sizeof(name)));
    OK(strcmp(name, "short"));
}

CASE(name_is_the_creators_at_first)
{
    char name[16];
    OK(pthread_setname_np(pthread_self(), "creator"));
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_getname_np(t, name, sizeof(name)));
    OK(strcmp(name, "creator"));
    flag_set(&go, 1);
    join(t);
}

CASE(name_of_main_is_the_programs)
{
    char name[16], want[16] = {0};
    strncpy(want, program_invocation_short_name, sizeof(want) - 1);
    OK(pthread_getname_np(pthread_self(), name, sizeof(name)));
    OK(strcmp(name, want));
}

static pthread_t first;

static void *joins_the_first(void *arg)
{
    flag_add(&waiting, 1);
    pthread_join(first, NULL);
    return arg;
}

/* Each waits for the other, until one of them is cancelled. */
CASE(cancelled_joiner_closes_no_circle)
{
    for (int i = 0; i < 4; i++) {
        void *ret = NULL;
        first = pthread_self();
        flag_set(&waiting, 0);
        pthread_t t = start(joins_the_first, NULL);
        if (i % 2 == 0) {
            flag_wait(&waiting, 1);
            give_way();
        }
        OK(pthread_cancel(t));
        OK(pthread_join(t, &ret));
        CHECK(ret == PTHREAD_CANCELED);
    }
}

static void *sets_go(void *arg)
{
    flag_set(&go, 1);
    return arg;
}

/* Undefined, but the C library reports it as long as it can. */
CASE(join_of_a_detached_thread_that_has_ended_is_einval)
{
    pthread_t t = start(sets_go, NULL);
    OK(pthread_detach(t));
    flag_wait(&go, 1);
    for (int i = 0; i < 20; i++) {
        give_way();
    }
    CHECK_EQ(pthread_join(t, NULL), EINVAL);
    CHECK_EQ(pthread_detach(t), EINVAL);
    join(start(sets_go, NULL));
}
