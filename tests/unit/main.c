/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the suites on Linux, on the runtime that PIRN_SCHED and PIRN_CPUS choose, again and
 * again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"
#include "suite.h"

static const struct suite *const suites[] = {
    &suite_core,    &suite_sync,     &suite_policy,           &suite_classes,
    &suite_call,    &suite_affinity, &suite_affinity_classes, &suite_demand,
    &suite_objects, &suite_poll};
enum { SUITES = sizeof(suites) / sizeof(suites[0]), TESTS_MAX = 1000 };

static struct options {
    const char *suite, *test;
    uint64_t repeat;
    bool verbose;
} options = {.repeat = 10};

static const char *running = "";

void test_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "FAILED %s (PIRN_SCHED=%s): %s:%d: %s\n", running, test_sched(), file, line,
            what);
    abort();
}

uint32_t test_random(uint32_t n)
{
    static uint32_t state = 1;
    uint32_t x = __atomic_add_fetch(&state, 0x9e3779b9u, __ATOMIC_RELAXED);
    x = (x ^ x >> 16) * 0x85ebca6bu;
    return (x ^ x >> 13) % n;
}

void test_pause(void)
{
    sched_yield();
}

static int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

int test_fd(unsigned i)
{
    if (fds[i] < 0) {
        fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    return fds[i];
}

void test_fd_renew(unsigned i)
{
    int fresh = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fresh < 0 || dup3(fresh, test_fd(i), O_CLOEXEC) < 0 || close(fresh) != 0) {
        perror("dup3");
    }
}

void test_fd_set(unsigned i, bool readable)
{
    eventfd_t value;
    if (!readable) {
        eventfd_read(test_fd(i), &value);
    } else if (eventfd_write(test_fd(i), 1) != 0) {
        perror("eventfd");
    }
}

bool test_fd_get(unsigned i)
{
    struct pollfd p = {.fd = test_fd(i), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

void test_block(uint32_t ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_nanosleep, &t, NULL);
}

bool test_lose_cpu(void)
{
    return false;
}

void test_spin(void)
{
    __asm__ volatile("" ::: "memory");
}

bool test_preempts(void)
{
    const char *value = getenv("PIRN_PREEMPT");
    return value != NULL && strcmp(value, "1") == 0;
}

bool test_misses(uint32_t misses, uint32_t work)
{
    (void)misses;
    (void)work;
    return false;
}

void test_places(void) {}

uint64_t test_measured(void)
{
    return 0;
}

void test_part(void) {}

void test_slice(void)
{
    pirn_yield();
}

bool test_simulated(void)
{
    return false;
}

uint64_t *test_tls(void)
{
    static __thread uint64_t word;
    const char *tls = getenv("PIRN_TLS");
    return tls != NULL && strcmp(tls, "own") == 0 ? &word : NULL;
}

const char *test_sched(void)
{
    const char *spec = getenv("PIRN_SCHED");
    return spec != NULL ? spec : "steal";
}

struct foreign {
    void (*fn)(void *);
    void *arg;
};

static void *foreign_main(void *arg)
{
    struct foreign f = *(struct foreign *)arg;
    free(arg);
    f.fn(f.arg);
    return NULL;
}

void test_foreign(void (*fn)(void *), void *arg)
{
    struct foreign *f = malloc(sizeof(*f));
    pthread_t thread;
    *f = (struct foreign){fn, arg};
    if (pthread_create(&thread, NULL, foreign_main, f) != 0 || pthread_detach(thread) != 0) {
        perror("kernel thread");
        exit(1);
    }
}

/* Suite classes needs a discipline with classes. */
static bool suite_fits(const struct suite *suite)
{
    return !suite->classes || strstr(test_sched(), "discipline=posix") != NULL ||
           strstr(test_sched(), "discipline=shmac") != NULL;
}

static unsigned long run_suite(const struct suite *suite)
{
    unsigned long runs = 0;
    for (const struct test *test = suite->tests; test->name != NULL; test++) {
        if (options.test != NULL && strcmp(options.test, test->name) != 0) {
            continue;
        }
        running = test->name;
        if (options.verbose) {
            printf("%s/%s\n", suite->name, test->name);
            fflush(stdout);
        }
        for (uint64_t i = 0; i < options.repeat; i++) {
            test->run(NULL);
            runs++;
        }
    }
    return runs;
}

static bool suite_selected(const struct suite *suite)
{
    return options.suite != NULL ? strcmp(options.suite, suite->name) == 0 : suite_fits(suite);
}

/* The test is one of a selected suite. */
static void test_check(void)
{
    const char *names[TESTS_MAX];
    size_t n = 0;
    for (unsigned i = 0; i < SUITES; i++) {
        const struct test *test = suites[i]->tests;
        for (; suite_selected(suites[i]) && test->name != NULL && n < TESTS_MAX; test++) {
            names[n++] = test->name;
        }
    }
    operand_choice("--test", options.test, names, n, sizeof(names[0]));
}

static void parse(int argc, char **argv)
{
    const char *names[SUITES + 1] = {NULL};
    long suite = -1;
    for (unsigned i = 0; i < SUITES; i++) {
        names[i] = suites[i]->name;
    }
    const struct option_spec table[] = {
        option_choice("suite", &suite, names, "one suite (default: all that the policy is for)"),
        option_text("test", "NAME", &options.test, "one test"),
        option_count("repeat", &options.repeat, 1, UINT32_MAX, "how often each test runs"),
        option_flag("verbose", &options.verbose, "a line per test"),
        {0}};
    const struct option_page page = {.summary = "Pirn's test suites on Linux.", .options = table};
    options_parse(argc, argv, &page);
    options.suite = suite >= 0 ? names[suite] : NULL;
    if (options.test != NULL) {
        test_check();
    }
}

int main(int argc, char **argv)
{
    unsigned long runs = 0;
    parse(argc, argv);
    for (unsigned i = 0; i < SUITES; i++) {
        if (suite_selected(suites[i])) {
            runs += run_suite(suites[i]);
        }
    }
    printf("%lu runs under %s on %u CPUs\n", runs, test_sched(), pirn_cpu_count());
    return runs != 0 ? 0 : 1;
}
