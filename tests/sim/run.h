/* SPDX-License-Identifier: MIT */
/*
 * run.h - one test under one seed, and the ways to go through all of them (main.c, mutants.c,
 * repeat.c).
 */
#ifndef PIRN_TESTS_RUN_H
#define PIRN_TESTS_RUN_H

#include "sim.h"
#include "suite.h"

struct options {
    const char *suite, *test, *sched;
    uint64_t first, seeds, distinct;
    int weak; /* 0 no, 1 yes, 2 both */
    double seconds;
    enum mutant mutant;
    bool verbose, one_seed;
    enum { MODE_TESTS, MODE_REPEAT, MODE_DIGEST, MODE_TRACED } mode;
    bool traced;       /* check the event trace of each run */
    const char *trace; /* write that of the one run here */
    unsigned cpus;
};
extern struct options options;

/* What this program has; ends with NULL (suites.c, posix/suites_posix.c). And its name. */
extern const struct suite *const suites[];
extern const char program_name[];

/* A suite under a policy in a memory mode. */
struct place {
    const struct suite *suite;
    const char *sched;
    bool weak;
};

/* The places and tests that the options select. */
unsigned places_count(void);
struct place place_get(unsigned i);
bool test_selected(const struct test *test);

/* Run it. `where` names what runs now, also for who looks at it from outside. */
struct where {
    struct place place;
    const struct test *test;
    uint64_t seed;
    unsigned long long schedules;
};
void run_one(const struct place *place, const struct test *test, uint64_t seed,
             struct sim_result *result);
extern struct where *where;
int where_print(char *text, size_t size, const struct where *w);

const char *mutant_name(enum mutant mutant);

/* Go on until the mutant is caught: exit status. */
int mutants_main(void);

/* Every run twice, the second time after all others and in reverse order, and again in a fresh
 * process; or print a digest of all hashes: exit status. */
int repeat_main(void);
int digest_main(void);

/* Every run without and with the event trace: exit status. And what sim_config.traced is then. */
int traced_main(void);
const char *traced_check(const void *file, size_t size);

#endif
