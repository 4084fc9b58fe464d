/* SPDX-License-Identifier: MIT */
/* thread.c - pthread_create, join, detach, self, equal, exit, names. */
#include "check.h"

#define THREADS 100

static void *echo(void *arg)
{
    return arg;
}

static void test_create_passes_argument_and_result(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(echo, (void *)i);
    }
    for (long i = 0; i < THREADS; i++) {
        CHECK_EQ((long)join(t[i]), i);
    }
}

static pthread_t published;

static void *sees_own_id(void *arg)
{
    (void)arg;
    return (void *)(long)pthread_equal(published, pthread_self());
}

static void test_create_stores_the_id_before_the_thread_runs(void)
{
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_create(&published, NULL, sees_own_id, NULL));
        CHECK(join(published));
    }
}

static void test_equal_tells_threads_apart(void)
{
    pthread_t t = start(echo, NULL);
    CHECK(!pthread_equal(t, pthread_self()));
    CHECK(pthread_equal(t, t));
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    join(t);
}

static void *exits(void *arg)
{
    pthread_exit(arg);
}

static void test_exit_value_reaches_the_joiner(void)
{
    CHECK_EQ((long)join(start(exits, (void *)7L)), 7);
}

static flag_t go, waiting, done;

static void *waits_for_go(void *arg)
{
    flag_add(&waiting, 1);
    flag_wait(&go, 1);
    flag_add(&done, 1);
    return arg;
}

static void test_join_waits_for_a_thread_that_still_runs(void)
{
    flag_set(&go, 1);
    CHECK_EQ((long)join(start(waits_for_go, (void *)3L)), 3);
}

static void test_join_returns_edeadlk_when_joining_oneself(void)
{
    CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
}

#ifdef ON_PIRN
/* POSIX only allows it; glibc sees it but for a race. */
static void *join_arg(void *arg)
{
    return (void *)(long)pthread_join(*(pthread_t *)arg, NULL);
}

static void test_join_returns_edeadlk_when_two_join_each_other(void)
{
    static pthread_t self;
    self = pthread_self();
    pthread_t t = start(join_arg, &self);
    int mine = pthread_join(t, NULL);
    /* Whoever comes second is refused; main, if refused, lets the other be. */
    CHECK(mine == 0 || mine == EDEADLK);
    if (mine == EDEADLK) {
        OK(pthread_detach(t));
    }
}
#else
static void test_join_returns_edeadlk_when_two_join_each_other(void) {}
#endif

static void test_tryjoin_returns_ebusy_until_the_end(void)
{
    flag_set(&go, 0);
    flag_set(&waiting, 0);
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

static void test_timedjoin_returns_etimedout_and_can_be_repeated(void)
{
    flag_set(&go, 0);
    pthread_t t = start(waits_for_go, (void *)6L);
    void *ret = NULL;
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    CHECK_EQ(pthread_timedjoin_np(t, &ret, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_REALTIME, &at));
    at = after_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQ(pthread_clockjoin_np(t, &ret, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
#ifdef ON_PIRN /* glibc 2.36 spins for ever */
    at.tv_nsec = NS_PER_S;
    CHECK_EQ(pthread_timedjoin_np(t, &ret, &at), EINVAL);
#endif
    CHECK_EQ(pthread_clockjoin_np(t, &ret, CLOCK_THREAD_CPUTIME_ID, &at), EINVAL);
    flag_set(&go, 1);
    at = after_ms(CLOCK_REALTIME, 60000);
    OK(pthread_timedjoin_np(t, &ret, &at));
    CHECK_EQ((long)ret, 6);
}

static void test_join_returns_einval_when_detached(void)
{
    flag_set(&go, 0);
    flag_set(&done, 0);
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_detach(t));
    CHECK_EQ(pthread_join(t, NULL), EINVAL);
    CHECK_EQ(pthread_detach(t), EINVAL);
    flag_set(&go, 1);
    flag_wait(&done, 1);
}

static void test_detached_threads_end_when_created_so(void)
{
    pthread_attr_t attr;
    pthread_t t;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    flag_set(&go, 1);
    flag_set(&done, 0);
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_create(&t, &attr, waits_for_go, NULL));
    }
    OK(pthread_attr_destroy(&attr));
    flag_wait(&done, THREADS);
}

static void *detaches_itself(void *arg)
{
    OK(pthread_detach(pthread_self()));
    flag_add(&done, 1);
    return arg;
}

static void test_detach_of_oneself(void)
{
    flag_set(&done, 0);
    for (int i = 0; i < THREADS; i++) {
        start(detaches_itself, NULL);
    }
    flag_wait(&done, THREADS);
}

static void *tree(void *arg)
{
    long depth = (long)arg;
    if (depth == 0) {
        return (void *)1L;
    }
    pthread_t left = start(tree, (void *)(depth - 1));
    pthread_t right = start(tree, (void *)(depth - 1));
    return (void *)((long)join(left) + (long)join(right));
}

static void test_threads_create_and_join_threads(void)
{
    CHECK_EQ((long)tree((void *)7L), 128);
}

static void test_names_are_stored_and_bounded(void)
{
    char name[16];
    flag_set(&go, 0);
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_setname_np(t, "fifteen-letters"));
    OK(pthread_getname_np(t, name, sizeof(name)));
    CHECK_EQ(strcmp(name, "fifteen-letters"), 0);
    CHECK_EQ(pthread_setname_np(t, "sixteen-letters-"), ERANGE);
    CHECK_EQ(pthread_getname_np(t, name, 3), ERANGE);
    flag_set(&go, 1);
    join(t);
}

static void *own_errno(void *arg)
{
    for (int i = 0; i < 200; i++) {
        set_errno((int)(long)arg);
        sched_yield();
        if (get_errno() != (int)(long)arg) {
            return (void *)1L;
        }
    }
    return NULL;
}

static void test_errno_belongs_to_the_thread(void)
{
    pthread_t t[8];
    for (long i = 0; i < 8; i++) {
        t[i] = start(own_errno, (void *)(i + 1));
    }
    for (int i = 0; i < 8; i++) {
        CHECK(join(t[i]) == NULL);
    }
}

static void *deep(void *arg)
{
    volatile char room[256 << 10];
    for (size_t i = 0; i < sizeof(room); i += 1024) {
        room[i] = (char)i;
    }
    return room[1024 * 3] == (char)(1024 * 3) ? arg : NULL;
}

static void test_default_stack_is_as_large_as_the_systems(void)
{
    CHECK_EQ((long)join(start(deep, (void *)9L)), 9);
}

int main(void)
{
    RUN(test_create_passes_argument_and_result);
    RUN(test_create_stores_the_id_before_the_thread_runs);
    RUN(test_equal_tells_threads_apart);
    RUN(test_exit_value_reaches_the_joiner);
    RUN(test_join_waits_for_a_thread_that_still_runs);
    RUN(test_join_returns_edeadlk_when_joining_oneself);
    RUN(test_join_returns_edeadlk_when_two_join_each_other);
    RUN(test_tryjoin_returns_ebusy_until_the_end);
    RUN(test_timedjoin_returns_etimedout_and_can_be_repeated);
    RUN(test_join_returns_einval_when_detached);
    RUN(test_detached_threads_end_when_created_so);
    RUN(test_detach_of_oneself);
    RUN(test_threads_create_and_join_threads);
    RUN(test_names_are_stored_and_bounded);
    RUN(test_errno_belongs_to_the_thread);
    RUN(test_default_stack_is_as_large_as_the_systems);
    return 0;
}
