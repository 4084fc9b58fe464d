/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs every litmus test under many seeds, sequentially consistent and weak, and counts
 * how often its outcome appears. With --seed it runs one seed and says whether the outcome is that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "litmus.h"
#include "port.h"

_Atomic(uint32_t) X, Y, Z, F, word[4];
uint32_t r[MAX_READS];
volatile unsigned litmus_done;

static const struct litmus *const groups[] = {litmus_model,  litmus_tags,  litmus_sync,  litmus_tls,
                                              litmus_shared, litmus_calls, litmus_policy};
static const struct litmus *running;
static const char *const expect_names[] = {"never", "weak", "race", "unmodelled"};

static void thread_main(void *arg)
{
    running->thread[(uintptr_t)arg]();
    litmus_done++;
}

static void body(void *unused)
{
    unsigned n = 0;
    (void)unused;
    at_init(&X, 0u);
    at_init(&Y, 0u);
    at_init(&Z, 0u);
    at_init(&F, 0u);
    for (unsigned i = 0; i < 4; i++) {
        at_init(&word[i], 0u);
    }
    memset(r, 0, sizeof(r));
    litmus_done = 0;
    if (running->init != NULL) {
        running->init();
    }
    for (; n < 4 && running->thread[n] != NULL; n++) {
        sim_foreign(thread_main, (void *)(uintptr_t)n);
    }
    while (litmus_done != n) {
        port_relax(0);
    }
}

static uint64_t seeds = 3000, only_seed;
static bool verbose, one_seed;

/* Does the seed show the outcome? */
static bool shows(const struct litmus *test, bool weak, uint64_t seed, bool *failed)
{
    struct sim_config config = {.seed = seed, .ncpu = 1, .weak = weak, .sched = "single"};
    struct sim_result result;
    running = test;
    sim_run(&config, body, NULL, &result);
    if (result.failed) {
        printf("%s: %s\nrepeat: pirn-litmus --seed %" PRIu64 " %s\n", test->name, result.why, seed,
               test->name);
        *failed = true;
    }
    return !result.failed && test->outcome();
}

static uint64_t count(const struct litmus *test, bool weak, bool *failed)
{
    uint64_t seen = 0;
    for (uint64_t seed = 1; seed <= seeds && !*failed; seed++) {
        seen += shows(test, weak, seed, failed);
    }
    return seen;
}

/* Runs the one seed in both models and prints whether the outcome shows. False: a run failed. */
static bool run_seed(const struct litmus *test)
{
    bool failed = false;
    bool sc = shows(test, false, only_seed, &failed);
    bool weak = shows(test, true, only_seed, &failed);
    printf("%-6s %-26s %-13s %-10s weak %s, sc %s\n", failed ? "FAILED" : "ok", test->name,
           test->tag, expect_names[test->expect], weak ? "shows it" : "does not",
           sc ? "shows it" : "does not");
    return !failed;
}

static bool run(const struct litmus *test)
{
    bool failed = false;
    uint64_t sc = count(test, false, &failed);
    uint64_t weak = count(test, true, &failed);
    failed = failed || (sc != 0) != (test->expect == RACE) ||
             (weak != 0) != (test->expect == WEAK || test->expect == RACE);
    if (failed || verbose) {
        printf("%-6s %-26s %-13s %-10s %" PRIu64 " of %" PRIu64 " weak, %" PRIu64 " of %" PRIu64
               " sc\n",
               failed ? "FAILED" : "ok", test->name, test->tag, expect_names[test->expect], weak,
               seeds, sc, seeds);
    }
    return !failed;
}

static const char *const *test_names(void)
{
    static const char *names[1000];
    unsigned n = 0;
    for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (const struct litmus *test = groups[g]; test->name != NULL; test++) {
            names[n++] = test->name;
        }
    }
    return names;
}

static size_t length_of(const char *const *names)
{
    size_t n = 0;
    while (names[n] != NULL) {
        n++;
    }
    return n;
}

static const char *parse(int argc, char **argv)
{
    struct option_spec options[] = {
        option_count("seeds", &seeds, 1, UINT32_MAX, "seeds of each test and memory mode"),
        option_count("seed", &only_seed, 0, UINT64_MAX, "exactly one seed"),
        option_flag("verbose", &verbose, "a line per test"),
        {0}};
    const struct option_page page = {
        .summary = "Litmus tests of the memory model and of each order between CPUs.",
        .operand = "[NAME]",
        .options = options};
    options[0].letter = 'n';
    options[1].flag = &one_seed;
    options[2].letter = 'v';
    const char *name = options_parse(argc, argv, &page)[0];
    if (name != NULL) {
        const char *const *names = test_names();
        operand_choice("NAME", name, names, length_of(names), sizeof(names[0]));
    }
    return name;
}

int main(int argc, char **argv)
{
    unsigned tests = 0, failures = 0;
    const char *only = parse(argc, argv);
    for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (const struct litmus *test = groups[g]; test->name != NULL; test++) {
            if (only == NULL || strcmp(only, test->name) == 0) {
                failures += one_seed ? !run_seed(test) : !run(test);
                tests++;
            }
        }
    }
    printf("%u litmus tests, %" PRIu64 " seeds each in both memory modes, %u failed\n", tests,
           one_seed ? 1 : seeds, failures);
    return failures != 0 || tests == 0;
}
