/* SPDX-License-Identifier: MIT */
/*
 * driver.h - the part that the programs that run suites in the simulator share: the command line,
 * one test under one seed, the ways to go through all of them, and the line that repeats a run.
 *
 * A program names its suites and policies (struct driver), calls driver_parse, and then
 * driver_main. Parts: driver_options.c (command line, places), driver.c (runs), mutants.c,
 * repeat.c, traced.c.
 */
#ifndef PIRN_TESTS_DRIVER_H
#define PIRN_TESTS_DRIVER_H

#include "sim.h"
#include "suite.h"

struct option_spec;

struct driver {
    const char *name;    /* the program's; the line that repeats a run begins with it */
    const char *summary; /* for --help */
    const struct suite *const *suites; /* ends with NULL */
    const char *const *scheds;         /* policies, ends with NULL */
    bool own_scheds; /* true: a suite with a list of policies of its own runs under those instead */
    uint64_t seeds;  /* default of --seeds */
    const struct option_spec *more; /* options of the program's own, ends as usual; NULL: none */
    const char *(*chosen)(void);    /* the options given, for the line that repeats; NULL: none */
};

enum mode { MODE_TESTS, MODE_REPEAT, MODE_DIGEST, MODE_TRACED };

struct options {
    const char *suite, *test, *sched; /* NULL: all */
    uint64_t first, seeds, distinct;
    bool one_seed;
    double seconds;
    uint64_t hang; /* seconds of CPU time after which a run that has not ended is stuck */
    enum mutant mutant;
    bool verbose;
    enum mode mode;
    bool traced;       /* check the event trace of each run */
    const char *trace; /* write the trace of the one run to this file */
    uint64_t cpus;     /* 0: the seed chooses */
    const char *load;  /* the library with the policy; NULL: none */
};
extern struct options options;
extern const struct driver *driver; /* this program's */

/* Parse the command line, refuse errors, find the places. driver_main then does the requested runs
 * and returns the exit status. */
void driver_parse(const struct driver *driver, int argc, char **argv);
int driver_main(void);

/* The library's policies, with some of their options. Most programs run under all of these. */
extern const char *const driver_scheds[];

extern const struct suite suite_prof, suite_io; /* of pirn-sim-tests only */

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

/* Run it. `where` names the current run, also for an observer outside the process. */
struct where {
    struct place place;
    const struct test *test;
    uint64_t seed;
    unsigned long long schedules;
};
void run_one(const struct place *place, const struct test *test, uint64_t seed,
             struct sim_result *result);
extern struct where *where;

/* The command that repeats a run. */
enum { WHERE_TEXT = 1024 };
int where_print(char *text, size_t size, const struct where *w);

const char *const *mutant_names(void); /* ends with NULL; in the order of enum mutant */

/* Run until the mutant is caught; returns the exit status. */
int mutants_main(void);

/* Every run twice, the second time after all others and in reverse order, and again in a fresh
 * process; or print a digest of all hashes. Returns the exit status. */
int repeat_main(void);
int digest_main(void);

/* Every run without and with the event trace; returns the exit status. traced_check: the function
 * for sim_config.traced. */
int traced_main(void);
const char *traced_check(const void *file, size_t size, bool saved);

/* The program's own command line, for a fresh process with the same task; ends with NULL. */
extern char **driver_argv;

#endif
