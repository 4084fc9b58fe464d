/* SPDX-License-Identifier: MIT */
/*
 * simulated.c - the suites that every organization must pass, for the example, in the simulator.
 *
 *     pirn-policy-sim [SEEDS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../suites/suite.h"
#include "example.h"
#include "sim.h"

#define SEEDS_DEFAULT 30

static const struct suite *const suites[] = {&suite_core, &suite_sync, &suite_policy};

void test_fail(const char *file, int line, const char *what)
{
    sim_fail("%s:%d: %s", file, line, what);
}

uint32_t test_random(uint32_t n)
{
    return sim_random(n);
}

void test_pause(void)
{
    sim_pause();
}

void test_foreign(void (*fn)(void *), void *arg)
{
    sim_foreign(fn, arg);
}

bool test_simulated(void)
{
    return true;
}

const char *test_sched(void)
{
    return example_home.name;
}

static bool run(const struct test *test, bool weak, unsigned seed)
{
    struct sim_config config = {
        .seed = seed, .ncpu = 1 + seed % 4, .weak = weak, .sched = example_home.name};
    struct sim_result result;
    sim_run(&config, test->run, NULL, &result);
    if (result.failed) {
        printf("FAILED %s, memory %s, seed %u: %s\n", test->name, weak ? "weak" : "sc", seed,
               result.why);
    }
    return !result.failed;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : SEEDS_DEFAULT;
    unsigned runs = 0, failures = 0;
    if (pirn_sched_register(&example_home) != 0) {
        return 1;
    }
    for (unsigned s = 0; s < sizeof(suites) / sizeof(suites[0]); s++) {
        for (const struct test *test = suites[s]->tests; test->name != NULL; test++) {
            for (int seed = 1; seed <= seeds; seed++) {
                failures += !run(test, false, (unsigned)seed) + !run(test, true, (unsigned)seed);
                runs += 2;
            }
        }
    }
    printf("%u runs under \"%s\", %u failed\n", runs, example_home.name, failures);
    return failures != 0 || runs == 0;
}
