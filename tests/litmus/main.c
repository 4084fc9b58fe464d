/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs every litmus test under many seeds, sequentially consistent and weak, and counts
 * how often its outcome appears.
 *
 *     pirn-litmus [-n SEEDS] [-v] [NAME]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "litmus.h"
#include "port.h"

#define SEEDS_DEFAULT 3000u

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

/* How many of the seeds show the outcome. */
static unsigned count(const struct litmus *test, bool weak, unsigned seeds, bool *failed)
{
    unsigned seen = 0;
    running = test;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct sim_config config = {.seed = seed, .ncpu = 1, .weak = weak, .sched = "single"};
        struct sim_result result;
        sim_run(&config, body, NULL, &result);
        if (result.failed) {
            printf("%s, seed %u: %s\n", test->name, seed, result.why);
            *failed = true;
            return seen;
        }
        seen += test->outcome();
    }
    return seen;
}

static bool run(const struct litmus *test, unsigned seeds, bool verbose)
{
    bool failed = false;
    unsigned sc = count(test, false, seeds, &failed);
    unsigned weak = count(test, true, seeds, &failed);
    failed = failed || (sc != 0) != (test->expect == RACE) ||
             (weak != 0) != (test->expect == WEAK || test->expect == RACE);
    if (failed || verbose) {
        printf("%-6s %-26s %-13s %-10s %u of %u weak, %u of %u sc\n", failed ? "FAILED" : "ok",
               test->name, test->tag, expect_names[test->expect], weak, seeds, sc, seeds);
    }
    return !failed;
}

int main(int argc, char **argv)
{
    unsigned seeds = SEEDS_DEFAULT, tests = 0, failures = 0;
    bool verbose = false;
    for (int c; (c = getopt(argc, argv, "n:v")) != -1;) {
        if (c == 'n' && atoi(optarg) > 0) {
            seeds = (unsigned)atoi(optarg);
        } else if (c == 'v') {
            verbose = true;
        } else {
            fprintf(stderr, "usage: pirn-litmus [-n SEEDS] [-v] [NAME]\n");
            return 2;
        }
    }
    const char *only = optind < argc ? argv[optind] : NULL;
    for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        for (const struct litmus *test = groups[g]; test->name != NULL; test++) {
            if (only == NULL || strcmp(only, test->name) == 0) {
                failures += !run(test, seeds, verbose);
                tests++;
            }
        }
    }
    printf("%u litmus tests, %u seeds each in both memory modes, %u failed\n", tests, seeds,
           failures);
    return failures != 0 || tests == 0;
}
