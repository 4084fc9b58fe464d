/* SPDX-License-Identifier: MIT */
/*
 * suite_process.c - fork and exec at any moment. The child has the thread that forked, with its
 * mask and handlers, and no pending signal. A new program has the mask of the thread that started
 * it and the signals pending for the process, and none of the runtime's signals.
 */
#include "posix_suite.h"

#include <errno.h>
#include <string.h>

enum { THREADS = 3 };

static struct {
    int handled, over, ready;
    bool blocked; /* SIGUSR2 is blocked by the thread that forks or executes */
    pthread_mutex_t mutex;
    sem_t sem;
    int sum; /* under the mutex */
} g;

static void begin(void)
{
    memset(&g, 0, sizeof(g));
    OK(pirn_pthread_mutex_init(&g.mutex, NULL));
    OK(pirn_posix_sem_init(&g.sem, 0, 0));
}

static void counts(int signal)
{
    (void)signal;
    TEST_ADD(&g.handled, 1);
}

/* Activity of other threads at the time. */
static void *is_busy(void *arg)
{
    TEST_ADD(&g.ready, 1);
    while (!TEST_GET(&g.over)) {
        OK(pirn_pthread_mutex_lock(&g.mutex));
        sim_pause();
        OK(pirn_pthread_mutex_unlock(&g.mutex));
        do_something();
        if (test_random(4) == 0) {
            mask_with(SIG_BLOCK, SIGUSR1);
            do_something();
            mask_with(SIG_UNBLOCK, SIGUSR1);
        }
    }
    return arg;
}

static void *adds(void *arg)
{
    OK(pirn_pthread_mutex_lock(&g.mutex));
    g.sum++;
    OK(pirn_pthread_mutex_unlock(&g.mutex));
    OK(pirn_posix_sem_post(&g.sem));
    return arg;
}

static void uses_threads(void)
{
    pthread_t t[THREADS];
    int before = g.sum;
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin_thread(adds, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        while (pirn_posix_sem_wait(&g.sem) != 0) {
            CHECK(*sim_errno() == EINTR);
        }
        end_thread(t[i]);
    }
    CHECK(g.sum == before + THREADS);
}

/* Signals work in the child, with none left from the parent. */
static void uses_signals(void)
{
    sigset_t pending;
    OK(pirn_posix_sigpending(&pending));
    CHECK(!sigismember(&pending, SIGUSR1) && !sigismember(&pending, SIGUSR2));
    CHECK(mask_has(SIGUSR2) == g.blocked);
    mask_with(SIG_UNBLOCK, SIGUSR1);
    int before = TEST_GET(&g.handled);
    OK(pirn_pthread_kill(pirn_pthread_self(), SIGUSR1));
    CHECK(TEST_GET(&g.handled) == before + 1);
    sim_kill(SIGUSR1);
    wait_for(&g.handled, before + 2);
    CHECK(TEST_GET(&g.handled) == before + 2);
}

static void child(void)
{
    OK(pirn_pthread_mutex_unlock(&g.mutex)); /* the thread that forked has it */
    switch (test_random(3)) {
    case 0:
        uses_threads();
        uses_signals();
        break;
    case 1:
        uses_signals();
        uses_threads();
        break;
    default:
        break;
    }
    sim_child_exit(7);
}

/* With signals on their way, and blocked ones pending. */
static void *forks(void *arg)
{
    g.blocked = test_random(2) != 0;
    if (g.blocked) {
        mask_with(SIG_BLOCK, SIGUSR2);
        OK(pirn_pthread_kill(pirn_pthread_self(), SIGUSR2));
    }
    do_something();
    if (test_random(2) != 0) {
        sim_kill(SIGUSR1);
    }
    OK(pirn_pthread_mutex_lock(&g.mutex));
    int pid = sim_fork();
    if (pid == 0) {
        child();
    }
    OK(pirn_pthread_mutex_unlock(&g.mutex));
    CHECK(sim_child_status(pid) == 7);
    if (g.blocked) {
        int before = TEST_GET(&g.handled);
        mask_with(SIG_UNBLOCK, SIGUSR2);
        CHECK(TEST_GET(&g.handled) > before);
    }
    return arg;
}

static void test_a_child_has_the_thread_that_forked(void *unused)
{
    pthread_t t[THREADS];
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    handle(SIGUSR2, counts, SA_RESTART);
    for (int i = 0; i < THREADS; i++) {
        t[i] = begin_thread(is_busy, NULL);
    }
    wait_for(&g.ready, 1);
    if (test_random(2) != 0) {
        forks(NULL);
    } else {
        end_thread(begin_thread(forks, NULL));
    }
    TEST_SET(&g.over, 1);
    for (int i = 0; i < THREADS; i++) {
        end_thread(t[i]);
    }
}

/* Without signals of threads, in a program that has none. */
static void test_a_child_without_signals_uses_threads(void *unused)
{
    (void)unused;
    begin();
    pthread_t t = begin_thread(is_busy, NULL);
    wait_for(&g.ready, 1);
    OK(pirn_pthread_mutex_lock(&g.mutex));
    int pid = sim_fork();
    if (pid == 0) {
        OK(pirn_pthread_mutex_unlock(&g.mutex));
        uses_threads();
        sim_child_exit(3);
    }
    OK(pirn_pthread_mutex_unlock(&g.mutex));
    CHECK(sim_child_status(pid) == 3);
    TEST_SET(&g.over, 1);
    end_thread(t);
}

static uint64_t bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

static void looks(uint64_t mask, uint64_t pending)
{
    CHECK((mask & bit(SIGUSR2)) == (g.blocked ? bit(SIGUSR2) : 0));
    CHECK((mask & bit(SIGTERM)) != 0);
    CHECK((pending & bit(SIGTERM)) != 0);
}

static char *const no_arguments[] = {NULL};

static void *executes(void *arg)
{
    g.blocked = test_random(2) != 0;
    if (g.blocked) {
        mask_with(SIG_BLOCK, SIGUSR2);
    }
    do_something();
    sim_expect_exec(looks);
    pirn_posix_execve(SIM_PROGRAM, no_arguments, no_arguments);
    CHECK(!"the program goes on after exec");
    return arg;
}

/* All block SIGTERM, which is pending for the process, in the runtime or in the kernel. */
static void test_a_new_program_has_mask_and_signals(void *unused)
{
    pthread_t t;
    (void)unused;
    begin();
    mask_with(SIG_BLOCK, SIGTERM);
    handle(SIGUSR1, counts, SA_RESTART);
    for (int i = 0; i < THREADS; i++) {
        t = begin_thread(is_busy, NULL);
    }
    wait_for(&g.ready, 1);
    sim_kill(SIGTERM);
    if (test_random(2) != 0) {
        OK(pirn_pthread_kill(t, SIGUSR1));
    }
    if (test_random(2) != 0) {
        sim_kill(SIGUSR1);
    }
    if (test_random(2) != 0) {
        executes(NULL);
    }
    end_thread(begin_thread(executes, NULL));
}

/* Signals that came meanwhile are taken after exec has failed. */
static void *fails_to_execute(void *arg)
{
    static const char *const none = "/bin/none";
    for (int i = 0; i < 2; i++) {
        CHECK(error_of(pirn_posix_execve(none, no_arguments, no_arguments)) == ENOENT);
        do_something();
    }
    TEST_SET(&g.over, 1);
    return arg;
}

static void test_a_program_that_is_not_there_changes_nothing(void *unused)
{
    (void)unused;
    begin();
    handle(SIGUSR1, counts, SA_RESTART);
    pthread_t t = begin_thread(fails_to_execute, NULL);
    for (int n = 1; n <= 3; n++) {
        if (test_random(2) != 0) {
            sim_kill(SIGUSR1);
        } else {
            OK(pirn_pthread_kill(pirn_pthread_self(), SIGUSR1));
        }
        wait_for(&g.handled, n);
    }
    end_thread(t);
    CHECK(TEST_GET(&g.handled) == 3);
}

static const struct test tests[] = {
    {"a_child_has_the_thread_that_forked", test_a_child_has_the_thread_that_forked, 0},
    {"a_child_without_signals_uses_threads", test_a_child_without_signals_uses_threads, 0},
    {"a_new_program_has_mask_and_signals", test_a_new_program_has_mask_and_signals, 0},
    {"a_program_that_is_not_there_changes_nothing",
     test_a_program_that_is_not_there_changes_nothing, 0},
    {NULL, NULL, 0},
};

const struct suite suite_process = {"process", tests, NULL, false};
