/* SPDX-License-Identifier: MIT */
/*
 * simulated.c - policies from outside, in the simulator: the suites that every policy
 * must pass, and deliberate mistakes that they must catch.
 *
 *     pirn-policy-sim [SEEDS [SPEC]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suites/suite.h"
#include "example.h"
#include "others.h"
#include "sim.h"

enum { SEEDS_DEFAULT = 30, SEEDS_MISTAKE = 300 };

static const char *const specs[] = {"home",  "home:start=turn", "owned", "owned:order=lifo",
                                    "relay", "ranked",          NULL};
static const struct suite *const suites[] = {&suite_core, &suite_sync, &suite_policy, &suite_call,
                                             NULL};
static const char *spec;

static bool preempts;

bool test_preempts(void)
{
    return preempts;
}

const char *test_sched(void)
{
    return spec;
}

/* Half of all seeds preempt, with each number of CPUs. */
static bool run(void (*body)(void *), bool weak, unsigned seed, struct sim_result *result)
{
    preempts = seed / 4 % 2 != 0;
    struct sim_config config = {.seed = seed,
                                .ncpu = 1 + seed % 4,
                                .weak = weak,
                                .preempt = preempts ? "1" : "0",
                                .sched = spec};
    sim_run(&config, body, NULL, result);
    return !result->failed;
}

/* All suites under spec, both memory modes; runs and failures. */
static unsigned run_suites(unsigned seeds)
{
    unsigned runs = 0, failures = 0;
    struct sim_result result;
    for (unsigned s = 0; suites[s] != NULL; s++) {
        for (const struct test *test = suites[s]->tests; test->name != NULL; test++) {
            for (unsigned i = 0; i < 2 * seeds; i++, runs++) {
                if (!run(test->run, i % 2, 1 + i / 2, &result)) {
                    printf("FAILED %s, %s, memory %s, seed %u: %s\n", spec, test->name,
                           i % 2 ? "weak" : "sc", 1 + i / 2, result.why);
                    failures++;
                }
            }
        }
    }
    printf("%u runs under \"%s\", %u failed\n", runs, spec, failures);
    return runs != 0 ? failures : 1;
}

/* ---- mistakes ---- */

static bool sees_nothing(pirn_cpu_t self)
{
    (void)self;
    return false;
}

/* Tells nobody, although other CPUs may have to run it. */
static struct pirn_kick kicks_nobody(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    example_home.enqueue(self, t, why);
    return (struct pirn_kick){.cpu = PIRN_KICK_NONE};
}

/* The thread runs on while others may take it: its context is not saved. */
static struct pirn_rotation rotates_in_the_open(pirn_cpu_t self, pirn_thread_t t)
{
    pirn_thread_t next = example_home.pick(self);
    if (next != NULL) {
        example_home.enqueue(self, t, PIRN_WHY_YIELD);
    }
    return (struct pirn_rotation){next, NULL};
}

static bool caught(const char *name)
{
    struct sim_result result;
    spec = name;
    for (unsigned seed = 1; seed <= SEEDS_MISTAKE; seed++) {
        for (unsigned s = 0; suites[s] != NULL; s++) {
            for (const struct test *test = suites[s]->tests; test->name != NULL; test++) {
                if (!run(test->run, seed % 2, seed, &result)) {
                    printf("\"%s\" caught, seed %u, %s: %.100s\n", name, seed, test->name,
                           result.why);
                    return true;
                }
            }
        }
    }
    printf("FAILED: \"%s\" is not caught\n", name);
    return false;
}

static void waits_for_ever(void *unused)
{
    pirn_sem_t sem = PIRN_SEM_INIT(0);
    (void)unused;
    pirn_sem_wait(&sem);
}

/* The report of a hang ends with what `dump` prints. */
static bool dumped(void)
{
    struct sim_result result;
    spec = "owned";
    bool passed = run(waits_for_ever, false, 4, &result);
    bool said = strstr(result.why, " {CPU 0: 0 ready, inbox empty}") != NULL;
    if (passed || !said) {
        printf("FAILED: no dump in \"%s\"\n", result.why);
    }
    return !passed && said;
}

int main(int argc, char **argv)
{
    static struct pirn_policy blind, mute, hasty, deaf;
    const struct pirn_policy *const all[] = {
        &example_home, &policy_owned, &policy_relay, &policy_ranked, &blind, &mute, &hasty, &deaf};
    unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : SEEDS_DEFAULT;
    unsigned failures = 0;
    blind = mute = hasty = example_home;
    blind.name = "blind";
    blind.has_work = sees_nothing;
    mute.name = "mute";
    mute.enqueue = kicks_nobody;
    hasty.name = "hasty";
    hasty.rotate = rotates_in_the_open;
    deaf = policy_ranked; /* does not hear that a ready thread's priority changes */
    deaf.name = "deaf";
    deaf.requeue = NULL;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (pirn_sched_register(all[i]) != 0) {
            printf("%s\n", pirn_sched_refusal());
            return 1;
        }
    }
    if (argc > 2) {
        spec = argv[2];
        return run_suites(seeds) != 0;
    }
    for (unsigned i = 0; (spec = specs[i]) != NULL; i++) {
        failures += run_suites(seeds);
    }
    failures += !caught("blind") + !caught("mute") + !caught("hasty") + !caught("deaf") + !dumped();
    return failures != 0;
}
