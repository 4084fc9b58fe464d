/* SPDX-License-Identifier: MIT */
/* sleep.c - sleeping: the duration, many at once, bad arguments; timers that start threads. */
#include "harness.h"

#include <signal.h>

#define THREADS 50

static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

CASE(nanosleep_lasts)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5), time = {.tv_nsec = 5 * NS_PER_MS};
    OK(nanosleep(&time, NULL));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
}

CASE(usleep_lasts)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5);
    OK(usleep(5000));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
}

CASE(sleep_lasts)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 1000);
    CHECK_EQ(sleep(1), 0);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
}

CASE(clock_nanosleep_lasts)
{
    for (size_t i = 0; i < COUNT(clocks); i++) {
        struct timespec at = after_ms(clocks[i], 5), time = {.tv_nsec = 5 * NS_PER_MS};
        OK(clock_nanosleep(clocks[i], 0, &time, NULL));
        CHECK(has_passed(clocks[i], &at));
    }
}

CASE(clock_nanosleep_until_a_time)
{
    for (size_t i = 0; i < COUNT(clocks); i++) {
        struct timespec at = after_ms(clocks[i], 5);
        OK(clock_nanosleep(clocks[i], TIMER_ABSTIME, &at, NULL));
        CHECK(has_passed(clocks[i], &at));
    }
}

static void *computes(void *stop)
{
    while (!flag_get(stop)) {
        sched_yield();
    }
    return NULL;
}

CASE(clock_nanosleep_on_the_time_of_the_process)
{
    static flag_t stop;
    struct timespec before, after, time = {.tv_nsec = 5 * NS_PER_MS};
    pthread_t t = start(computes, &stop); /* a thread must use the CPU time up */
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before));
    OK(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &time, NULL));
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after));
    CHECK(ns_between(&before, &after) >= 5 * NS_PER_MS);
    flag_set(&stop, 1);
    join(t);
}

CASE(a_past_time_does_not_sleep)
{
    struct timespec past = {.tv_sec = 1}, none = {0};
    OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL));
    OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &none, NULL));
    OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL));
    OK(nanosleep(&none, NULL));
    OK(usleep(0));
    CHECK_EQ(sleep(0), 0);
}

CASE(nanosleep_is_einval_for_bad_nanoseconds)
{
    struct timespec bad = {.tv_nsec = NS_PER_S};
    FAILS(nanosleep(&bad, NULL), EINVAL);
    bad.tv_nsec = -1;
    FAILS(nanosleep(&bad, NULL), EINVAL);
    bad = (struct timespec){.tv_sec = -1};
    FAILS(nanosleep(&bad, NULL), EINVAL);
}

CASE(clock_nanosleep_is_einval_for_bad_nanoseconds)
{
    struct timespec bad = {.tv_nsec = NS_PER_S};
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
    CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &bad, NULL), EINVAL);
    bad.tv_nsec = -1;
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
}

CASE(clock_nanosleep_is_einval_on_the_time_of_the_thread)
{
    struct timespec time = {.tv_nsec = 1};
    CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &time, NULL), EINVAL);
}

CASE(clock_nanosleep_is_refused_for_no_clock)
{
    struct timespec time = {.tv_nsec = 1};
    int error = clock_nanosleep(1234, 0, &time, NULL);
    CHECK(error == EINVAL || error == ENOTSUP);
}

static void *sleeps(void *arg)
{
    long ms = (long)arg;
    struct timespec at = after_ms(CLOCK_MONOTONIC, ms);
    usleep((useconds_t)ms * 1000);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    return NULL;
}

/* A sleeping thread does not keep others from running: in sequence it would take five minutes. */
CASE(threads_sleep_together)
{
    enum { MANY = 3000 };
    static pthread_t t[MANY];
    for (int i = 0; i < MANY; i++) {
        t[i] = start(sleeps, (void *)100L);
    }
    for (int i = 0; i < MANY; i++) {
        join(t[i]);
    }
}

CASE(sleepers_wake_beside_busy_threads)
{
    static flag_t stop;
    pthread_t busy[4];
    for (int i = 0; i < 4; i++) {
        busy[i] = start(computes, &stop);
    }
    for (int i = 0; i < 5; i++) {
        sleeps((void *)2L);
    }
    flag_set(&stop, 1);
    for (int i = 0; i < 4; i++) {
        join(busy[i]);
    }
}

static flag_t expired;

static void expires(union sigval value)
{
    CHECK_EQ(value.sival_int, 42);
    CHECK(pthread_self() != 0);
    flag_add(&expired, 1);
}

/* SIGEV_THREAD: the function runs in a thread. */
CASE(timer_starts_a_thread)
{
    NOT_SANITIZED("the sanitizer does not see the thread of the C library");
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = expires,
                             .sigev_value.sival_int = 42};
    struct itimerspec when = {.it_value = {.tv_nsec = NS_PER_MS}};
    timer_t timer;
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &when, NULL));
    flag_wait(&expired, 1);
    OK(timer_delete(timer));
}

CASE(timer_starts_a_thread_each_time)
{
    NOT_SANITIZED("the sanitizer does not see the thread of the C library");
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, 256u << 10));
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = expires,
                             .sigev_notify_attributes = &a,
                             .sigev_value.sival_int = 42};
    struct itimerspec when = {{.tv_nsec = NS_PER_MS}, {.tv_nsec = NS_PER_MS}};
    timer_t timer;
    OK(timer_create(CLOCK_REALTIME, &event, &timer));
    OK(timer_settime(timer, 0, &when, NULL));
    flag_wait(&expired, 5);
    OK(timer_delete(timer));
    OK(pthread_attr_destroy(&a));
}

static void knows_its_stack(union sigval value)
{
    pthread_attr_t a;
    void *low = NULL;
    size_t size = 0;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &low, &size));
    CHECK((uintptr_t)&value - (uintptr_t)low < size);
    OK(pthread_attr_destroy(&a));
    flag_add(&expired, 1);
}

CASE(timer_thread_knows_its_stack)
{
    NOT_SANITIZED("the sanitizer does not see the thread of the C library");
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = knows_its_stack};
    struct itimerspec when = {.it_value = {.tv_nsec = NS_PER_MS}};
    timer_t timer;
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &when, NULL));
    flag_wait(&expired, 1);
    OK(timer_delete(timer));
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static bool asked;

static void tells(union sigval value)
{
    (void)value;
    OK(pthread_mutex_lock(&m));
    asked = true;
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(&m));
}

CASE(timer_thread_may_use_everything)
{
    NOT_SANITIZED("the sanitizer does not see the thread of the C library");
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tells};
    struct itimerspec when = {.it_value = {.tv_nsec = NS_PER_MS}};
    timer_t timer;
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &when, NULL));
    OK(pthread_mutex_lock(&m));
    while (!asked) {
        OK(pthread_cond_wait(&c, &m));
    }
    OK(pthread_mutex_unlock(&m));
    OK(timer_delete(timer));
}

CASE(timer_is_einval_for_no_clock)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tells};
    timer_t timer;
    FAILS(timer_create(1234, &event, &timer), EINVAL);
}

#ifdef ON_PIRN
#include <pirn/pthread_np.h>

CASE(delay_lasts)
{
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5), time = {.tv_nsec = 5 * NS_PER_MS};
    OK(pthread_delay_np(&time));
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    time = (struct timespec){0};
    OK(pthread_delay_np(&time));
}

CASE(delay_is_einval_for_bad_nanoseconds)
{
    struct timespec time = {.tv_nsec = NS_PER_S};
    CHECK_EQ(pthread_delay_np(&time), EINVAL);
    time = (struct timespec){.tv_sec = -1};
    CHECK_EQ(pthread_delay_np(&time), EINVAL);
}

CASE(processors_are_the_workers)
{
    const char *cpus = getenv("PIRN_CPUS");
    CHECK(pthread_num_processors_np() >= 1);
    if (cpus != NULL) {
        CHECK_EQ(pthread_num_processors_np(), atoi(cpus));
    }
}
#endif
