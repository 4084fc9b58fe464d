/* SPDX-License-Identifier: MIT */
/* sigwait.c - waiting for signals: sigwait, sigwaitinfo, sigtimedwait, sigsuspend, pause. */
#include "harness.h"

#include <signal.h>

static sigset_t set;
static flag_t ready, taken, go, handled;

/* Blocked in this thread and in all threads that it creates. */
static void block(int first, int second)
{
    sigemptyset(&set);
    sigaddset(&set, first);
    if (second != 0) {
        sigaddset(&set, second);
    }
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
}

static int wait_one(void)
{
    int number = 0;
    OK(sigwait(&set, &number));
    return number;
}

CASE(sigwait_takes_a_pending_signal)
{
    block(SIGUSR1, SIGUSR2);
    OK(kill(getpid(), SIGUSR2));
    CHECK_EQ(wait_one(), SIGUSR2);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK_EQ(wait_one(), SIGUSR1);
    sigset_t pending;
    OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGUSR1), 0);
    CHECK_EQ(sigismember(&pending, SIGUSR2), 0);
}

static void *takes(void *arg)
{
    flag_add(&ready, 1);
    CHECK_EQ(wait_one(), SIGUSR1);
    flag_add(&taken, 1);
    return arg;
}

CASE(sigwait_waits_for_a_process_signal)
{
    block(SIGUSR1, 0);
    pthread_t t = start(takes, NULL);
    flag_wait(&ready, 1);
    give_way();
    OK(kill(getpid(), SIGUSR1));
    join(t);
}

CASE(sigwait_waits_for_a_signal_of_its_thread)
{
    block(SIGUSR1, 0);
    pthread_t t = start(takes, NULL);
    flag_wait(&ready, 1);
    give_way();
    OK(pthread_kill(t, SIGUSR1));
    join(t);
}

/* Each signal is taken by one of the waiting threads. */
CASE(sigwait_of_many_threads_takes_each_signal_once)
{
    pthread_t t[5];
    block(SIGUSR1, 0);
    for (int i = 0; i < 5; i++) {
        t[i] = start(takes, NULL);
    }
    flag_wait(&ready, 5);
    for (int i = 0; i < 5; i++) {
        OK(kill(getpid(), SIGUSR1));
        flag_wait(&taken, i + 1);
        give_way();
        CHECK_EQ(flag_get(&taken), i + 1);
    }
    for (int i = 0; i < 5; i++) {
        join(t[i]);
    }
}

static void *waits_for_go(void *arg)
{
    sigset_t pending;
    flag_add(&ready, 1);
    flag_wait(&go, 1);
    OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGUSR1), 1);
    return arg;
}

/* A signal for another thread is not for us. */
CASE(sigtimedwait_leaves_signals_of_other_threads)
{
    struct timespec time = {.tv_nsec = NS_PER_MS};
    block(SIGUSR1, 0);
    pthread_t t = start(waits_for_go, NULL);
    flag_wait(&ready, 1);
    OK(pthread_kill(t, SIGUSR1));
    FAILS(sigtimedwait(&set, NULL, &time), EAGAIN);
    flag_set(&go, 1);
    join(t);
}

/* A pattern of servers: one thread takes all signals, the others compute. */
static void *serves(void *arg)
{
    int n = 0;
    for (;;) {
        int number = wait_one();
        if (number == SIGTERM) {
            return (void *)(long)n;
        }
        CHECK_EQ(number, SIGUSR1);
        n++;
        flag_set(&taken, n);
    }
    return arg;
}

CASE(a_thread_takes_the_signals_of_all)
{
    block(SIGUSR1, SIGTERM);
    pthread_t t = start(serves, NULL);
    for (int i = 1; i <= 10; i++) {
        OK(kill(getpid(), SIGUSR1));
        flag_wait(&taken, i);
    }
    OK(kill(getpid(), SIGTERM));
    CHECK_EQ((long)join(t), 10);
}

CASE(sigwaitinfo_tells_about_the_signal)
{
    siginfo_t info;
    union sigval value = {.sival_int = 44};
    block(SIGRTMIN, SIGUSR1);
    OK(sigqueue(getpid(), SIGRTMIN, value));
    CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN);
    CHECK_EQ(info.si_signo, SIGRTMIN);
    CHECK_EQ(info.si_code, SI_QUEUE);
    CHECK_EQ(info.si_value.sival_int, 44);
    CHECK_EQ(info.si_pid, getpid());
    OK(kill(getpid(), SIGUSR1));
    CHECK_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    CHECK_EQ(info.si_code, SI_USER);
    OK(kill(getpid(), SIGUSR1));
    CHECK_EQ(sigwaitinfo(&set, NULL), SIGUSR1);
}

CASE(sigwaitinfo_takes_queued_signals_in_order)
{
    siginfo_t info;
    block(SIGRTMIN, SIGRTMIN + 1);
    for (int i = 0; i < 3; i++) {
        union sigval value = {.sival_int = i};
        OK(sigqueue(getpid(), SIGRTMIN + 1, value));
        OK(sigqueue(getpid(), SIGRTMIN, value));
    }
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN + i / 3);
        CHECK_EQ(info.si_value.sival_int, i % 3);
    }
}

CASE(sigtimedwait_is_eagain_after_its_time)
{
    struct timespec time = {.tv_nsec = 5 * NS_PER_MS}, none = {0};
    block(SIGUSR1, 0);
    struct timespec at = after_ms(CLOCK_MONOTONIC, 5);
    FAILS(sigtimedwait(&set, NULL, &time), EAGAIN);
    CHECK(has_passed(CLOCK_MONOTONIC, &at));
    FAILS(sigtimedwait(&set, NULL, &none), EAGAIN);
}

CASE(sigtimedwait_is_einval_for_bad_nanoseconds)
{
    struct timespec time = {.tv_nsec = NS_PER_S};
    block(SIGUSR1, 0);
    FAILS(sigtimedwait(&set, NULL, &time), EINVAL);
    time.tv_nsec = -1;
    FAILS(sigtimedwait(&set, NULL, &time), EINVAL);
}

static void *takes_timed(void *arg)
{
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    flag_add(&ready, 1);
    CHECK_EQ(sigtimedwait(&set, NULL, &time), SIGUSR1);
    return arg;
}

CASE(sigtimedwait_takes_a_signal_in_time)
{
    block(SIGUSR1, 0);
    pthread_t t = start(takes_timed, NULL);
    flag_wait(&ready, 1);
    give_way();
    OK(kill(getpid(), SIGUSR1));
    join(t);
}

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static void *is_interrupted(void *arg)
{
    flag_add(&ready, 1);
    FAILS(sigwaitinfo(&set, NULL), EINTR);
    flag_add(&taken, 1);
    return arg;
}

CASE(sigwaitinfo_is_eintr_after_another_signal)
{
    struct sigaction action = {.sa_handler = counts};
    block(SIGUSR1, 0);
    OK(sigaction(SIGUSR2, &action, NULL));
    pthread_t t = start(is_interrupted, NULL);
    flag_wait(&ready, 1);
    while (flag_get(&taken) == 0) {
        OK(pthread_kill(t, SIGUSR2));
        give_way();
    }
    join(t);
    CHECK(flag_get(&handled) >= 1);
}

static void *suspends(void *arg)
{
    sigset_t none;
    sigemptyset(&none);
    flag_add(&ready, 1);
    FAILS(sigsuspend(&none), EINTR);
    sigset_t now;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &now));
    CHECK_EQ(sigismember(&now, SIGUSR1), 1); /* as before */
    return arg;
}

/* The signal was blocked until then: it cannot come too early. */
CASE(sigsuspend_waits_with_another_mask)
{
    struct sigaction action = {.sa_handler = counts};
    block(SIGUSR1, 0);
    OK(sigaction(SIGUSR1, &action, NULL));
    pthread_t t = start(suspends, NULL);
    flag_wait(&ready, 1);
    OK(pthread_kill(t, SIGUSR1));
    join(t);
    CHECK_EQ(flag_get(&handled), 1);
}

static void *pauses(void *arg)
{
    flag_add(&ready, 1);
    FAILS(pause(), EINTR);
    flag_add(&taken, 1);
    return arg;
}

CASE(pause_ends_with_a_handler)
{
    struct sigaction action = {.sa_handler = counts};
    OK(sigaction(SIGUSR1, &action, NULL));
    pthread_t t = start(pauses, NULL);
    flag_wait(&ready, 1);
    while (flag_get(&taken) == 0) {
        OK(pthread_kill(t, SIGUSR1));
        give_way();
    }
    join(t);
}

CASE(timer_sends_a_signal_to_who_waits)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 45};
    struct itimerspec when = {{.tv_nsec = NS_PER_MS}, {.tv_nsec = NS_PER_MS}};
    siginfo_t info;
    timer_t timer;
    block(SIGRTMIN, 0);
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &when, NULL));
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN);
        CHECK_EQ(info.si_code, SI_TIMER);
        CHECK_EQ(info.si_value.sival_int, 45);
    }
    OK(timer_delete(timer));
}
