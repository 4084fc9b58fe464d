/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the suites on a board, on the runtime that PIRN_SCHED and PIRN_CPUS choose, again
 * and again. Tests that need features that boards do not have (kernel threads beside the runtime's,
 * descriptors) say so and are left out, by name.
 *
 *     suites [--suite SUITE] [--test TEST] [--repeat N] [--verbose]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "suite.h"

static const struct suite *const suites[] = {&suite_core, &suite_sync, &suite_policy,
                                             &suite_classes, &suite_objects};

static const char *running = "";

void test_fail(const char *file, int line, const char *what)
{
    printf("FAILED %s (PIRN_SCHED=%s): %s:%d: %s\n", running, test_sched(), file, line, what);
    fflush(stdout);
    exit(1);
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
    for (volatile unsigned i = 0; i < 100; i++) {
    }
}

int test_fd(unsigned i)
{
    (void)i;
    return -1;
}

void test_fd_renew(unsigned i)
{
    (void)i;
}

void test_fd_set(unsigned i, bool readable)
{
    (void)i;
    (void)readable;
}

bool test_fd_get(unsigned i)
{
    (void)i;
    return false;
}

void test_block(uint32_t ns)
{
    (void)ns;
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

static __thread uint64_t own_word;

uint64_t *test_tls(void)
{
    return &own_word;
}

const char *test_sched(void)
{
    const char *spec = getenv("PIRN_SCHED");
    return spec != NULL ? spec : "steal";
}

/* Tests that need a foreign thread are left out. */
void test_foreign(void (*fn)(void *), void *arg)
{
    (void)fn;
    (void)arg;
    test_fail(__FILE__, __LINE__, "a kernel thread beside the runtime's on a board");
}

/* These call kernel threads, but not where there are several CPUs. */
static const char *const foreign_on_one_cpu[] = {
    "woken_thread_runs_when_it_becomes_urgent_meanwhile",
    "woken_thread_runs_when_its_cpu_makes_it_urgent_meanwhile",
    "urgent_thread_does_not_wait_for_main_that_has_just_gone_on",
};

static bool needs_foreign(const char *test)
{
    if (strstr(test, "foreign") != NULL ||
        strcmp(test, "ready_thread_runs_when_others_stay_busy_for_ever") == 0) {
        return true;
    }
    for (unsigned i = 0; i < sizeof(foreign_on_one_cpu) / sizeof(foreign_on_one_cpu[0]); i++) {
        if (pirn_cpu_count() == 1 && strcmp(test, foreign_on_one_cpu[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool suite_fits(const struct suite *suite)
{
    return !suite->classes || strstr(test_sched(), "discipline=posix") != NULL ||
           strstr(test_sched(), "discipline=shmac") != NULL;
}

struct asked {
    const char *suite, *test;
    long repeat;
    bool verbose;
};

static unsigned long run_suite(const struct suite *suite, const struct asked *asked)
{
    unsigned long runs = 0;
    for (const struct test *test = suite->tests; test->name != NULL; test++) {
        if (asked->test != NULL && strcmp(asked->test, test->name) != 0) {
            continue;
        }
        if (needs_foreign(test->name)) {
            printf("left out: %s/%s: it needs kernel threads\n", suite->name, test->name);
            continue;
        }
        running = test->name;
        if (asked->verbose) {
            printf("%s/%s\n", suite->name, test->name);
            fflush(stdout);
        }
        for (long i = 0; i < asked->repeat; i++) {
            test->run(NULL);
            runs++;
        }
    }
    return runs;
}

enum { SUITES = sizeof(suites) / sizeof(suites[0]), TESTS_MAX = 500 };

static bool suite_selected(const struct suite *suite, const struct asked *asked)
{
    return asked->suite != NULL ? strcmp(asked->suite, suite->name) == 0 : suite_fits(suite);
}

/* The test is one of a selected suite. */
static void test_check(const struct asked *asked)
{
    static const char *names[TESTS_MAX];
    size_t n = 0;
    for (unsigned i = 0; i < SUITES; i++) {
        const struct test *test = suites[i]->tests;
        for (; suite_selected(suites[i], asked) && test->name != NULL && n < TESTS_MAX; test++) {
            names[n++] = test->name;
        }
    }
    operand_choice("--test", asked->test, names, n, sizeof(names[0]));
}

static struct asked parse(int argc, char **argv)
{
    const char *names[SUITES + 1] = {NULL};
    long suite = -1;
    struct asked asked = {.repeat = 3};
    for (unsigned i = 0; i < SUITES; i++) {
        names[i] = suites[i]->name;
    }
    const struct option_spec table[] = {
        option_choice("suite", &suite, names, "one suite (default: all that the policy is for)"),
        option_text("test", "NAME", &asked.test, "one test"),
        option_number("repeat", &asked.repeat, 1, 1000000, "how often each test runs"),
        option_flag("verbose", &asked.verbose, "a line per test"),
        {0}};
    const struct option_page page = {.summary = "Pirn's test suites on a board.", .options = table};
    options_parse(argc, argv, &page);
    asked.suite = suite >= 0 ? names[suite] : NULL;
    if (asked.test != NULL) {
        test_check(&asked);
    }
    return asked;
}

int main(int argc, char **argv)
{
    struct asked asked = parse(argc, argv);
    unsigned long runs = 0;
    for (unsigned i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        if (suite_selected(suites[i], &asked)) {
            runs += run_suite(suites[i], &asked);
        }
    }
    printf("%lu runs under %s on %u CPUs\n", runs, test_sched(), pirn_cpu_count());
    return runs != 0 ? 0 : 1;
}
