/* SPDX-License-Identifier: MIT */
/*
 * suite_signals.c - signals of threads and of the process (src/posix/signals): each sent signal is
 * taken, once, by a thread that may take it, and not before. A lost signal shows as a deadlock,
 * because most senders wait for the handler.
 */
#include "posix_suite.h"

#include <errno.h>
#include <string.h>

enum { THREADS = 3, SENDS = 3, STORM = 100, STORM_MORE = 4 };

static struct {
    pthread_t thread[THREADS];
    int handled[THREADS]; /* by which thread */
    int all;
    int over;
    int ready;
    int values[8], nvalues; /* of queued signals, in the order in which they were taken */
    int waited;             /* signals that sigwait has returned */
} g;

static void begin(void)
{
    memset(&g, 0, sizeof(g));
}

/* The calling thread's number; THREADS: it is none of them. */
static unsigned number_of_self(void)
{
    unsigned i = 0;
    while (i < THREADS && !pthread_equal(g.thread[i], pirn_pthread_self())) {
        i++;
    }
    return i;
}

static void counts(int signal)
{
    (void)signal;
    unsigned i = number_of_self();
    TEST_ADD(&g.all, 1);
    if (i < THREADS) {
        TEST_ADD(&g.handled[i], 1);
    }
}

/* A handler that yields and waits. */
static void counts_and_waits(int signal)
{
    if (test_random(2) != 0) {
        sim_pause();
    }
    if (test_random(2) != 0) {
        pirn_sleep(test_random(300));
    }
    counts(signal);
}

static void counts_value(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    int at = TEST_ADD(&g.nvalues, 1) - 1;
    g.values[at] = info->si_value.sival_int;
}

/* Busy with various calls until the end. */
static void *is_busy(void *arg)
{
    TEST_ADD(&g.ready, 1);
    while (!TEST_GET(&g.over)) {
        do_something();
    }
    return arg;
}

static void threads_begin(void *(*fn)(void *))
{
    for (unsigned i = 0; i < THREADS; i++) {
        g.thread[i] = begin_thread(fn, NULL);
    }
    wait_for(&g.ready, THREADS);
}

static void threads_end(void)
{
    TEST_SET(&g.over, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        end_thread(g.thread[i]);
    }
}

static void test_a_thread_takes_what_is_sent_to_it(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, test_random(2) != 0 ? counts : counts_and_waits, 0);
    threads_begin(is_busy);
    for (int n = 1; n <= SENDS; n++) {
        unsigned i = test_random(THREADS);
        int before = TEST_GET(&g.handled[i]);
        OK(pirn_pthread_kill(g.thread[i], SIGUSR1));
        wait_for(&g.handled[i], before + 1);
        CHECK(TEST_GET(&g.all) == n);
    }
    threads_end();
}

/* In the library, where handlers do not run, and in its own code. */
static void *computes(void *arg)
{
    TEST_ADD(&g.ready, 1);
    while (!TEST_GET(&g.over)) {
        for (unsigned i = test_random(100); i > 0; i--) {
            sim_point(90, 0);
        }
        sim_pause();
        pirn_posix_sched_yield();
    }
    return arg;
}

/* A thread that has been interrupted for its signals, and has not taken them yet, is interrupted
 * for no further ones, unless the receiver does it: else it would get nowhere. */
static void test_a_storm_of_signals_interrupts_seldom(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    pthread_t t = begin_thread(computes, NULL);
    wait_for(&g.ready, 1);
    for (unsigned i = 0; i < STORM; i++) {
        OK(pirn_pthread_kill(t, SIGUSR1));
    }
    TEST_SET(&g.over, 1);
    end_thread(t);
    unsigned handled = (unsigned)TEST_GET(&g.all);
    CHECK(handled >= 1 && handled <= STORM);
    CHECK(sim_others_sent() <= sim_receiver_asked() + 2 * handled + STORM_MORE);
}

/* It waits for nothing that a signal ends. */
static void *computes_until_handled(void *arg)
{
    TEST_ADD(&g.ready, 1);
    while (TEST_GET(&g.all) == 0) {
        sim_pause();
        if (test_random(4) == 0) {
            pirn_sleep(1 + test_random(100)); /* the native API's: signals do not end it */
        }
    }
    return arg;
}

/* One attempt may find it ready, or inside the runtime: there are others. */
static void test_a_thread_that_does_not_wait_is_notified_again(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    pthread_t t = begin_thread(computes_until_handled, NULL);
    wait_for(&g.ready, 1);
    OK(pirn_pthread_kill(t, SIGUSR1));
    end_thread(t);
    CHECK(TEST_GET(&g.all) == 1);
}

static void *is_notified_by_another(void *arg)
{
    (void)arg;
    TEST_ADD(&g.ready, 1);
    for (int n = 0; n < SENDS; n++) {
        OK(pirn_pthread_kill(g.thread[test_random(THREADS)], SIGUSR1));
        do_something();
    }
    while (!TEST_GET(&g.over)) {
        do_something();
    }
    return NULL;
}

/* Signals may be merged, but not lost: the last one is taken after it has been sent. */
static void test_threads_send_to_each_other(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    for (unsigned i = 0; i < THREADS; i++) {
        g.thread[i] = pirn_pthread_self();
    }
    threads_begin(is_notified_by_another);
    wait_for(&g.all, 1);
    TEST_SET(&g.over, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        int before = TEST_GET(&g.all);
        OK(pirn_pthread_kill(pirn_pthread_self(), SIGUSR1));
        CHECK(TEST_GET(&g.all) > before); /* for the caller: taken before the call returns */
        end_thread(g.thread[i]);
    }
}

/* Main blocks it, so one of the others takes it. */
static void test_a_process_signal_is_taken_once(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, test_random(2) != 0 ? counts : counts_and_waits, 0);
    threads_begin(is_busy);
    mask_with(SIG_BLOCK, SIGUSR1);
    for (int n = 1; n <= SENDS; n++) {
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_posix_kill(getpid(), SIGUSR1));
        }
        wait_for(&g.all, n);
        CHECK(TEST_GET(&g.all) == n);
        do_something();
    }
    threads_end();
    CHECK(TEST_GET(&g.all) == SENDS);
    CHECK(g.handled[0] + g.handled[1] + g.handled[2] == SENDS);
}

/* Blocks and unblocks; never takes a signal while it blocks it. */
static void *changes_its_mask(void *arg)
{
    unsigned i = (unsigned)(size_t)arg;
    TEST_ADD(&g.ready, 1);
    while (!TEST_GET(&g.over)) {
        mask_with(SIG_BLOCK, SIGUSR1);
        int before = TEST_GET(&g.handled[i]);
        do_something();
        CHECK(TEST_GET(&g.handled[i]) == before);
        CHECK(mask_has(SIGUSR1));
        mask_with(SIG_UNBLOCK, SIGUSR1);
        do_something();
    }
    return NULL;
}

static void test_a_blocked_signal_waits_or_goes_elsewhere(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    for (unsigned i = 0; i < THREADS; i++) {
        g.thread[i] = begin_thread(changes_its_mask, (void *)(size_t)i);
    }
    wait_for(&g.ready, THREADS);
    mask_with(SIG_BLOCK, SIGUSR1);
    for (int n = 1; n <= SENDS; n++) {
        unsigned i = test_random(THREADS);
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_pthread_kill(g.thread[i], SIGUSR1));
        }
        wait_for(&g.all, n);
    }
    threads_end();
    CHECK(TEST_GET(&g.all) == SENDS);
}

/* Unblocked at first, blocked from some moment on. */
static void *closes(void *arg)
{
    TEST_ADD(&g.ready, 1);
    for (unsigned i = test_random(3); i > 0; i--) {
        do_something();
    }
    mask_with(SIG_BLOCK, SIGUSR1);
    wait_for(&g.over, 1);
    return arg;
}

static void *stays_open(void *arg)
{
    sem_t *sem = arg;
    TEST_ADD(&g.ready, 1);
    while (pirn_posix_sem_wait(sem) != 0) {
        CHECK(*sim_errno() == EINTR);
    }
    return arg;
}

/* The first thread is notified, but blocks the signal before it takes it: then the other one gets
 * it. */
static void test_a_signal_that_a_notified_thread_blocks_goes_on(void *unused)
{
    (void)unused;
    sem_t sem;
    begin();
    OK(pirn_posix_sem_init(&sem, 0, 0));
    handle(SIGUSR1, counts, 0);
    pthread_t first = begin_thread(closes, NULL), second = begin_thread(stays_open, &sem);
    mask_with(SIG_BLOCK, SIGUSR1);
    wait_for(&g.ready, 2);
    sim_kill(SIGUSR1);
    for (int i = 0; TEST_GET(&g.all) == 0; i++) {
        CHECK(i < 100); /* 100 ms */
        pirn_sleep(1000000);
    }
    TEST_SET(&g.over, 1);
    OK(pirn_posix_sem_post(&sem));
    end_thread(first);
    end_thread(second);
    CHECK(TEST_GET(&g.all) == 1);
}

static void *unblocks_once(void *arg)
{
    mask_with(SIG_BLOCK, SIGUSR2);
    TEST_ADD(&g.ready, 1);
    wait_for(&g.over, 1);
    CHECK(TEST_GET(&g.all) == 0);
    mask_with(SIG_UNBLOCK, SIGUSR2);
    CHECK(TEST_GET(&g.all) == 1); /* before the call returns */
    return arg;
}

static void test_unblocking_takes_what_is_pending(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR2, counts, SA_RESTART);
    mask_with(SIG_BLOCK, SIGUSR2);
    pthread_t t = begin_thread(unblocks_once, NULL);
    wait_for(&g.ready, 1);
    OK(pirn_pthread_kill(t, SIGUSR2));
    sigset_t set;
    OK(pirn_posix_sigpending(&set));
    CHECK(!sigismember(&set, SIGUSR2)); /* it is another thread's */
    TEST_SET(&g.over, 1);
    end_thread(t);
}

static void *takes_queued(void *arg)
{
    mask_with(SIG_BLOCK, SIGRTMIN + 3);
    TEST_ADD(&g.ready, 1);
    wait_for(&g.over, 1);
    mask_with(SIG_UNBLOCK, SIGRTMIN + 3);
    return arg;
}

static void test_queued_signals_keep_their_order(void *unused)
{
    (void)unused;
    begin();
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = counts_value;
    OK(pirn_posix_sigaction(SIGRTMIN + 3, &action, NULL));
    pthread_t t = begin_thread(takes_queued, NULL);
    wait_for(&g.ready, 1);
    for (int i = 0; i < 5; i++) {
        OK(pirn_pthread_sigqueue(t, SIGRTMIN + 3, (union sigval){.sival_int = i + 1}));
        do_something();
    }
    TEST_SET(&g.over, 1);
    end_thread(t);
    CHECK(g.nvalues == 5);
    for (int i = 0; i < 5; i++) {
        CHECK(g.values[i] == i + 1);
    }
}

static void *waits_for_signals(void *arg)
{
    sigset_t set;
    int signal = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    TEST_ADD(&g.ready, 1);
    while (signal != SIGTERM) {
        OK(pirn_posix_sigwait(&set, &signal));
        TEST_ADD(&g.waited, 1);
        do_something();
    }
    return arg;
}

/* All threads block them, so waiting threads get them. */
static void test_sigwait_gets_each_signal_once(void *unused)
{
    (void)unused;
    begin();
    mask_with(SIG_BLOCK, SIGUSR1);
    mask_with(SIG_BLOCK, SIGTERM);
    threads_begin(waits_for_signals);
    for (int n = 1; n <= SENDS; n++) {
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_pthread_kill(g.thread[test_random(THREADS)], SIGUSR1));
        }
        wait_for(&g.waited, n);
        CHECK(TEST_GET(&g.waited) == n);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        OK(pirn_pthread_kill(g.thread[i], SIGTERM));
        end_thread(g.thread[i]);
    }
    CHECK(TEST_GET(&g.waited) == SENDS + THREADS);
}

static void test_sigtimedwait_ends_in_time(void *unused)
{
    (void)unused;
    static const struct timespec soon = {0, 500}, never = {0, 0};
    sigset_t set;
    siginfo_t info;
    begin();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    mask_with(SIG_BLOCK, SIGUSR1);
    CHECK(error_of(pirn_posix_sigtimedwait(&set, &info, &never)) == EAGAIN);
    CHECK(error_of(pirn_posix_sigtimedwait(&set, &info, &soon)) == EAGAIN);
    sim_kill(SIGUSR1);
    CHECK(pirn_posix_sigtimedwait(&set, &info, &never) == SIGUSR1);
}

static void *suspends(void *arg)
{
    sigset_t open;
    mask_with(SIG_BLOCK, SIGUSR1);
    OK(pirn_pthread_sigmask(SIG_BLOCK, NULL, &open));
    sigdelset(&open, SIGUSR1);
    TEST_ADD(&g.ready, 1);
    for (int n = 1; n <= SENDS; n++) {
        while (TEST_GET(&g.all) < n) { /* no signal comes between this and the wait */
            CHECK(error_of(pirn_posix_sigsuspend(&open)) == EINTR);
        }
        CHECK(mask_has(SIGUSR1));
        TEST_ADD(&g.waited, 1);
    }
    return arg;
}

static void test_sigsuspend_misses_nothing(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    mask_with(SIG_BLOCK, SIGUSR1);
    pthread_t t = begin_thread(suspends, NULL);
    wait_for(&g.ready, 1);
    for (int n = 1; n <= SENDS; n++) {
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_pthread_kill(t, SIGUSR1));
        }
        wait_for(&g.waited, n);
    }
    end_thread(t);
}

/* Ends soon, even after it has been notified of a signal. */
static void *ends_soon(void *arg)
{
    TEST_ADD(&g.ready, 1);
    if (test_random(2) != 0) {
        do_something();
    }
    return arg;
}

/* A thread that does not block the signal, and is notified, may end first; then another one takes
 * it. */
static void test_a_thread_that_ends_passes_signals_on(void *unused)
{
    (void)unused;
    pthread_t stays;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    stays = begin_thread(is_busy, NULL);
    wait_for(&g.ready, 1);
    mask_with(SIG_BLOCK, SIGUSR1);
    for (int n = 1; n <= SENDS; n++) {
        pthread_t t;
        mask_with(SIG_UNBLOCK, SIGUSR1);
        t = begin_thread(ends_soon, NULL);
        mask_with(SIG_BLOCK, SIGUSR1);
        sim_kill(SIGUSR1);
        end_thread(t);
        wait_for(&g.all, n);
        CHECK(TEST_GET(&g.all) == n);
    }
    TEST_SET(&g.over, 1);
    end_thread(stays);
}

static void test_ignored_signals_are_dropped(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    threads_begin(is_busy);
    mask_with(SIG_BLOCK, SIGUSR1);
    OK(pirn_pthread_kill(pirn_pthread_self(), SIGUSR1));
    handle(SIGUSR1, SIG_IGN, 0);
    sim_kill(SIGUSR1);
    OK(pirn_pthread_kill(g.thread[0], SIGUSR1));
    mask_with(SIG_UNBLOCK, SIGUSR1);
    threads_end();
    CHECK(TEST_GET(&g.all) == 0);
}

static void test_a_handler_is_reset_once(void *unused)
{
    (void)unused;
    begin();
    handle(SIGCHLD, counts, (int)SA_RESETHAND);
    threads_begin(is_busy);
    sim_kill(SIGCHLD);
    wait_for(&g.all, 1);
    sim_kill(SIGCHLD);
    for (int i = 0; i < 4; i++) {
        do_something();
    }
    threads_end();
    CHECK(TEST_GET(&g.all) == 1);
}

static void test_the_default_action_ends_the_process(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, 0);
    threads_begin(is_busy);
    sim_expect_default(SIGTERM);
    sim_kill(SIGTERM);
    for (;;) {
        pirn_sleep(1000); /* a run without end fails */
    }
}

static const struct test tests[] = {
    {"a_thread_takes_what_is_sent_to_it", test_a_thread_takes_what_is_sent_to_it, 0},
    {"a_thread_that_does_not_wait_is_notified_again",
     test_a_thread_that_does_not_wait_is_notified_again, 0},
    {"a_storm_of_signals_interrupts_seldom", test_a_storm_of_signals_interrupts_seldom, 0},
    {"threads_send_to_each_other", test_threads_send_to_each_other, 0},
    {"a_process_signal_is_taken_once", test_a_process_signal_is_taken_once, 0},
    {"a_blocked_signal_waits_or_goes_elsewhere", test_a_blocked_signal_waits_or_goes_elsewhere, 0},
    {"a_signal_that_a_notified_thread_blocks_goes_on",
     test_a_signal_that_a_notified_thread_blocks_goes_on, 0},
    {"unblocking_takes_what_is_pending", test_unblocking_takes_what_is_pending, 0},
    {"queued_signals_keep_their_order", test_queued_signals_keep_their_order, 0},
    {"sigwait_gets_each_signal_once", test_sigwait_gets_each_signal_once, 0},
    {"sigtimedwait_ends_in_time", test_sigtimedwait_ends_in_time, 0},
    {"sigsuspend_misses_nothing", test_sigsuspend_misses_nothing, 0},
    {"a_thread_that_ends_passes_signals_on", test_a_thread_that_ends_passes_signals_on, 0},
    {"ignored_signals_are_dropped", test_ignored_signals_are_dropped, 0},
    {"a_handler_is_reset_once", test_a_handler_is_reset_once, 0},
    {"the_default_action_ends_the_process", test_the_default_action_ends_the_process, 0},
    {NULL, NULL, 0},
};

const struct suite suite_signals = {"signals", tests, NULL, false};
