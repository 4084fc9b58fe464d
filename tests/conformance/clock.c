/* SPDX-License-Identifier: MIT */
/* clock.c - the CPU time of threads: its owner, its sum, and the permissions of its clock. */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static flag_t finished;
static flag_t go;

static long used_ns(clockid_t clock)
{
    struct timespec t;
    OK(clock_gettime(clock, &t));
    return (long)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void compute_ms(long ms)
{
    struct timespec end = after_ms(CLOCK_MONOTONIC, ms);
    while (!has_passed(CLOCK_MONOTONIC, &end)) {
    }
}

static void *computes(void *arg)
{
    compute_ms(20);
    flag_set(&finished, 1);
    flag_wait(&go, 1);
    return arg;
}

CASE(counts_the_time_of_its_thread)
{
    clockid_t clock, mine;
    OK(pthread_getcpuclockid(pthread_self(), &mine));
    long before = used_ns(mine);
    pthread_t t = start(computes, NULL);
    OK(pthread_getcpuclockid(t, &clock));
    CHECK(clock != mine);
    while (used_ns(clock) < 5 * NS_PER_MS) { /* it computes for at least that long */
        sched_yield();
    }
    CHECK(used_ns(mine) >= before);
    flag_set(&go, 1);
    join(t);
}

CASE(own_clock_is_that_of_the_thread)
{
    clockid_t mine;
    OK(pthread_getcpuclockid(pthread_self(), &mine));
    compute_ms(20);
    long a = used_ns(mine), b = used_ns(CLOCK_THREAD_CPUTIME_ID), c = used_ns(mine);
    CHECK(a <= b && b <= c);
    CHECK(a > 0);
}

static void *starts_at_zero(void *arg)
{
    (void)arg;
    return (void *)used_ns(CLOCK_THREAD_CPUTIME_ID);
}

CASE(new_thread_starts_at_zero)
{
    while (used_ns(CLOCK_THREAD_CPUTIME_ID) < 50 * NS_PER_MS) {
    }
    for (int i = 0; i < 3; i++) { /* the second one may have the memory of the first */
        CHECK((long)in_thread(starts_at_zero, NULL) < 50 * NS_PER_MS);
    }
}

/* Time that main used before it had other threads. */
CASE(main_has_its_time_from_the_start)
{
    long process = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (used_ns(CLOCK_PROCESS_CPUTIME_ID) < process + 30 * NS_PER_MS) {
    }
    in_thread(starts_at_zero, NULL);
    CHECK(used_ns(CLOCK_THREAD_CPUTIME_ID) >= 30 * NS_PER_MS);
}

CASE(sleeping_is_not_counted)
{
    struct timespec time = {.tv_nsec = 50 * NS_PER_MS};
    long before = used_ns(CLOCK_THREAD_CPUTIME_ID);
    OK(nanosleep(&time, NULL));
    CHECK(used_ns(CLOCK_THREAD_CPUTIME_ID) - before < 25 * NS_PER_MS);
}

static void *uses_40_ms(void *arg)
{
    while (used_ns(CLOCK_THREAD_CPUTIME_ID) < 40 * NS_PER_MS) {
    }
    return arg;
}

CASE(time_of_other_threads_is_not_counted)
{
    need_one_cpu();
    long before = used_ns(CLOCK_THREAD_CPUTIME_ID);
    in_thread(uses_40_ms, NULL);
    CHECK(used_ns(CLOCK_THREAD_CPUTIME_ID) - before < 20 * NS_PER_MS);
}

/* Short turns, and a long one now and then; returns its own time. */
static void *takes_turns(void *arg)
{
    flag_wait(&go, 1);
    long from = used_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 3000; i++) {
        if (i % 300 == 0) {
            compute_ms(2);
        }
        sched_yield();
    }
    (void)arg;
    return (void *)(used_ns(CLOCK_THREAD_CPUTIME_ID) - from);
}

CASE(time_of_all_threads_is_that_of_the_process)
{
    pthread_t t[THREADS];
    long sum = 0, from = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(takes_turns, NULL);
    }
    flag_set(&go, 1);
    for (int i = 0; i < THREADS; i++) {
        sum += (long)join(t[i]);
    }
    long process = used_ns(CLOCK_PROCESS_CPUTIME_ID) - from;
    CHECK(sum <= process + NS_PER_MS);
    CHECK(sum > 0);
}

static void *yields(void *arg)
{
    while (flag_get(&finished) == 0) {
        for (volatile int i = 0; i < 5000; i++) {
        }
        sched_yield();
    }
    return arg;
}

CASE(never_goes_back)
{
    clockid_t clock[THREADS];
    pthread_t t[THREADS];
    long last[THREADS] = {0}, own = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(yields, NULL);
        OK(pthread_getcpuclockid(t[i], &clock[i]));
    }
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < THREADS; i++) {
            long now = used_ns(clock[i]);
            CHECK(now >= last[i]);
            last[i] = now;
        }
        long now = used_ns(CLOCK_THREAD_CPUTIME_ID);
        CHECK(now >= own);
        own = now;
        if (round % 16 == 0) {
            sched_yield();
        }
    }
    flag_set(&finished, 1);
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

/* In the kernel, too. */
CASE(time_in_system_calls_is_counted)
{
    static char buffer[256 << 10];
    int fd = open("/dev/urandom", O_RDONLY);
    long own = used_ns(CLOCK_THREAD_CPUTIME_ID), process = used_ns(CLOCK_PROCESS_CPUTIME_ID), now;
    CHECK(fd >= 0);
    do {
        CHECK_EQ(read(fd, buffer, sizeof(buffer)), sizeof(buffer));
        now = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    } while (now - process < 40 * NS_PER_MS);
    CHECK(used_ns(CLOCK_THREAD_CPUTIME_ID) - own >= 20 * NS_PER_MS);
    close(fd);
}

static volatile int went_wrong;
static volatile long last_seen;

static void on_alarm(int number)
{
    struct timespec t;
    (void)number;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0 || t.tv_nsec < 0) {
        went_wrong = 1;
    }
    last_seen = (long)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void *alarmed(void *arg)
{
    struct timespec end = after_ms(CLOCK_MONOTONIC, 100);
    long last = 0;
    while (!has_passed(CLOCK_MONOTONIC, &end)) {
        long now = used_ns(CLOCK_THREAD_CPUTIME_ID);
        CHECK(now >= last);
        last = now;
        sched_yield();
    }
    return arg;
}

/* clock_gettime is async-signal-safe. */
CASE(handlers_may_read_it)
{
    NOT_SANITIZED("the sanitizer delivers signals late");
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{.tv_usec = 300}, {.tv_usec = 300}}, none = {{0}, {0}};
    pthread_t t[THREADS];
    OK(sigaction(SIGALRM, &act, NULL));
    OK(setitimer(ITIMER_REAL, &every, NULL));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(alarmed, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    OK(setitimer(ITIMER_REAL, &none, NULL));
    CHECK_EQ(went_wrong, 0);
    CHECK(last_seen > 0);
}

static void *waits(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

CASE(has_a_resolution)
{
    clockid_t clock;
    struct timespec t = {-1, -1};
    OK(clock_getres(CLOCK_THREAD_CPUTIME_ID, &t));
    CHECK(t.tv_sec == 0 && t.tv_nsec > 0);
    pthread_t other = start(waits, NULL);
    OK(pthread_getcpuclockid(other, &clock));
    t.tv_nsec = -1;
    OK(clock_getres(clock, &t));
    CHECK(t.tv_sec == 0 && t.tv_nsec > 0);
    OK(clock_getres(clock, NULL));
    flag_set(&go, 1);
    join(other);
}

/* Containers mostly refuse to set clocks, before the kernel looks at which clock it is. */
static void everything_is_einval(clockid_t clock)
{
    struct timespec t = {0, 0};
    if (clock_settime(CLOCK_MONOTONIC, &t) == -1 && errno == EPERM) {
        case_unsupported("a filter of system calls refuses clock_settime");
    }
    FAILS(clock_gettime(clock, &t), EINVAL);
    FAILS(clock_getres(clock, &t), EINVAL);
    FAILS(clock_settime(clock, &t), EINVAL);
}

CASE(is_einval_when_the_thread_has_ended)
{
    clockid_t clock;
    struct timespec t = {0, 0};
    pthread_t other = start(waits, NULL);
    OK(pthread_getcpuclockid(other, &clock));
    flag_set(&go, 1);
    join(other);
    everything_is_einval(clock);
    CHECK_EQ(clock_nanosleep(clock, 0, &t, NULL), EINVAL);
}

/* The child has no other thread than the caller, whose number in the kernel is a new one. */
CASE(child_has_a_clock)
{
    clockid_t clock;
    OK(pthread_getcpuclockid(pthread_self(), &clock));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        OK(pthread_getcpuclockid(pthread_self(), &clock));
        CHECK(used_ns(clock) < NS_PER_S);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CASE(is_einval_for_no_clock)
{
    static const clockid_t none[] = {1234, 0x40000000, 0x7fffffff};
    for (size_t i = 0; i < COUNT(none); i++) {
        everything_is_einval(none[i]);
    }
}

CASE(settime_is_eperm)
{
    clockid_t clock;
    struct timespec t = {.tv_sec = 1};
    OK(pthread_getcpuclockid(pthread_self(), &clock));
    FAILS(clock_settime(clock, &t), EPERM);
    CHECK_EQ(clock_settime(CLOCK_THREAD_CPUTIME_ID, &t), -1); /* EINVAL in the C library */
    pthread_t other = start(waits, NULL);
    OK(pthread_getcpuclockid(other, &clock));
    FAILS(clock_settime(clock, &t), EPERM);
    flag_set(&go, 1);
    join(other);
}

CASE(settime_is_einval_for_bad_nanoseconds)
{
    struct timespec t = {.tv_nsec = NS_PER_S};
    FAILS(clock_settime(CLOCK_REALTIME, &t), EINVAL);
    t.tv_nsec = -1;
    FAILS(clock_settime(CLOCK_REALTIME, &t), EINVAL);
}

CASE(nanosleep_is_einval_on_the_clock_of_the_caller)
{
    clockid_t clock;
    struct timespec t = {.tv_nsec = 1};
    OK(pthread_getcpuclockid(pthread_self(), &clock));
    CHECK_EQ(clock_nanosleep(clock, 0, &t, NULL), EINVAL);
}

CASE(nanosleep_on_the_clock_of_another_thread)
{
    clockid_t clock;
    struct timespec t = {.tv_nsec = 1};
    pthread_t other = start(yields, NULL);
    OK(pthread_getcpuclockid(other, &clock));
    OK_OR(clock_nanosleep(clock, 0, &t, NULL), ENOTSUP);
    flag_set(&finished, 1);
    join(other);
}

static void on_timer(int number)
{
    (void)number;
    flag_set(&go, 1);
}

static void *times_out(void *clock)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec when = {.it_value = {.tv_nsec = 5 * NS_PER_MS}};
    struct sigaction act = {.sa_handler = on_timer};
    timer_t timer;
    OK(sigaction(SIGUSR1, &act, NULL));
    set_errno(0);
    if (timer_create(*(clockid_t *)clock, &event, &timer) != 0) {
        CHECK_EQ(get_errno(), ENOTSUP);
        case_unsupported("timer_create answers ENOTSUP for the CPU time of a thread");
    }
    OK(timer_settime(timer, 0, &when, NULL));
    while (flag_get(&go) == 0) {
    }
    OK(timer_delete(timer));
    return NULL;
}

CASE(timer_goes_by_the_time_of_the_thread)
{
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    in_thread(times_out, &clock);
}
