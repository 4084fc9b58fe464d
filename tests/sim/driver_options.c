/* SPDX-License-Identifier: MIT */
/*
 * driver_options.c - the command line of the programs that run suites in the simulator, and the
 * places that it selects: combinations of suite, policy and memory mode.
 *
 * Everything is checked before the first run. A policy is checked by a run that does nothing: the
 * runtime itself reports errors in it. --load takes a shared library whose constructor registers
 * policies; its calls of the runtime find this program's, which are the simulator's.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sched/policy.h"
#include "common/options.h"
#include "driver.h"

enum { MODE_SC, MODE_WEAK, MODE_BOTH, OPTIONS_MAX = 24, CPUS_MAX = 16, TESTS_MAX = 1000 };

struct options options;
char **driver_argv;
const struct driver *driver;

static struct place *places;
static unsigned nplaces;

/* The parsed values, before they are checked. */
static struct parsed {
    long suite, mutant, memory;
    uint64_t seed;
    bool repeat, traced, digest, list, seeds_given;
} parsed = {.suite = -1, .mutant = -1, .memory = MODE_BOTH};

unsigned places_count(void)
{
    return nplaces;
}

struct place place_get(unsigned i)
{
    return places[i];
}

bool test_selected(const struct test *test)
{
    return options.test == NULL || strcmp(options.test, test->name) == 0;
}

static bool suite_selected(const struct suite *suite)
{
    return options.suite == NULL || strcmp(options.suite, suite->name) == 0;
}

static bool sched_fits(const struct suite *suite, const char *sched)
{
    return !suite->classes || strstr(sched, "discipline=posix") != NULL ||
           strstr(sched, "discipline=shmac") != NULL;
}

static void place_add(const struct suite *suite, const char *sched)
{
    if (!sched_fits(suite, sched)) {
        return;
    }
    places = realloc(places, (nplaces + 2) * sizeof(places[0]));
    if (places == NULL) {
        abort();
    }
    if (parsed.memory != MODE_WEAK) {
        places[nplaces++] = (struct place){suite, sched, false};
    }
    if (parsed.memory != MODE_SC) {
        places[nplaces++] = (struct place){suite, sched, true};
    }
}

static bool suite_has_test(const struct suite *suite)
{
    for (const struct test *test = suite->tests; test->name != NULL; test++) {
        if (test_selected(test)) {
            return true;
        }
    }
    return false;
}

/* The policies that --load has registered; ends with NULL. */
static const char *loaded[SCHED_REGISTERED_MAX + 1];

/* NULL: each suite has its own. */
static const char *const *scheds_chosen(void)
{
    static const char *one[2];
    one[0] = options.sched;
    return options.sched != NULL ? one : options.load != NULL ? loaded : NULL;
}

static void places_find(void)
{
    const char *const *chosen = scheds_chosen();
    for (unsigned i = 0; driver->suites[i] != NULL; i++) {
        const struct suite *suite = driver->suites[i];
        const char *const *scheds = chosen != NULL                                ? chosen
                                    : driver->own_scheds && suite->scheds != NULL ? suite->scheds
                                                                                  : driver->scheds;
        if (!suite_selected(suite) || !suite_has_test(suite)) {
            continue;
        }
        for (unsigned k = 0; scheds[k] != NULL; k++) {
            place_add(suite, scheds[k]);
        }
    }
}

/* ---- checks ---- */

static void load(void)
{
    char path[512];
    unsigned there = 0, n = 0;
    while (sched_at(there) != NULL) {
        there++;
    }
    /* Without a slash the linker would search its library folders. */
    snprintf(path, sizeof(path), "%s%s", strchr(options.load, '/') != NULL ? "" : "./",
             options.load);
    if (dlopen(path, RTLD_NOW) == NULL) {
        options_refuse("--load=%s: %s", options.load, dlerror());
    }
    for (const struct pirn_policy *p; (p = sched_at(there + n)) != NULL; n++) {
        loaded[n] = p->name;
    }
    if (n == 0) {
        const char *why = pirn_sched_refusal();
        options_refuse("--load=%s: %s", options.load,
                       why != NULL ? why
                                   : "no policy is registered; a constructor in it is to call "
                                     "pirn_sched_register");
    }
}

static void nothing(void *unused)
{
    (void)unused;
}

static void sched_check(const char *sched)
{
    struct sim_config config = {.seed = 1, .ncpu = 1, .sched = sched};
    struct sim_result result;
    sim_run(&config, nothing, NULL, &result);
    if (result.failed) {
        options_refuse("--sched=%s: %.*s", sched, (int)strcspn(result.why, "\n"), result.why);
    }
}

static void test_check(void)
{
    const char *names[TESTS_MAX];
    size_t n = 0;
    for (unsigned i = 0; driver->suites[i] != NULL; i++) {
        const struct test *test = driver->suites[i]->tests;
        for (; suite_selected(driver->suites[i]) && test->name != NULL && n < TESTS_MAX; test++) {
            names[n++] = test->name;
        }
    }
    operand_choice("--test", options.test, names, n, sizeof(names[0]));
}

/* --trace needs one test under one seed in one place. */
static void trace_check(void)
{
    if (options.test == NULL || nplaces != 1 || !options.one_seed) {
        options_refuse("--trace=%s: one run is traced; give --suite, --test, --sched, --memory "
                       "(sc or weak) and --seed, as the line \"repeat\" has them",
                       options.trace);
    }
}

static void check(void)
{
    if (options.one_seed && (parsed.seeds_given || options.distinct != 0)) {
        options_refuse("--seed=%llu: is exactly one seed; not together with --seeds or --distinct",
                       (unsigned long long)options.first);
    }
    if (options.seeds == 0 && options.seconds == 0 && options.distinct == 0) {
        options_refuse("--seeds=0: no limit is valid together with --seconds only");
    }
    if (options.test != NULL) {
        test_check();
    }
    if (options.load != NULL) {
        load();
    }
    const char *const *chosen = scheds_chosen();
    for (unsigned i = 0; chosen != NULL && chosen[i] != NULL; i++) {
        sched_check(chosen[i]);
    }
    places_find();
    if (nplaces == 0) {
        options_refuse("suite %s, test %s: not under --sched=%s; it needs scheduling classes: "
                       "discipline=posix or discipline=shmac",
                       options.suite != NULL ? options.suite : "(any)",
                       options.test != NULL ? options.test : "(any)", scheds_chosen()[0]);
    }
    if (options.trace != NULL) {
        trace_check();
    }
}

/* ---- the command line ---- */

static void list(void)
{
    for (unsigned i = 0; i < nplaces; i++) {
        if (i != 0 && places[i].suite == places[i - 1].suite) {
            continue;
        }
        for (const struct test *test = places[i].suite->tests; test->name != NULL; test++) {
            if (test_selected(test)) {
                printf("%s %s\n", places[i].suite->name, test->name);
            }
        }
    }
    exit(0);
}

static const char *const *suite_names(void)
{
    static const char *names[OPTIONS_MAX];
    for (unsigned i = 0; driver->suites[i] != NULL; i++) {
        names[i] = driver->suites[i]->name;
    }
    return names;
}

static void take(void)
{
    options.suite = parsed.suite >= 0 ? suite_names()[parsed.suite] : NULL;
    options.mutant = parsed.mutant >= 0 ? (enum mutant)parsed.mutant : MUTANT_NONE;
    options.mode = parsed.digest   ? MODE_DIGEST
                   : parsed.repeat ? MODE_REPEAT
                   : parsed.traced ? MODE_TRACED
                                   : MODE_TESTS;
    if (options.one_seed) {
        options.first = parsed.seed;
        options.seeds = 1;
    }
}

void driver_parse(const struct driver *d, int argc, char **argv)
{
    static const char *const memories[] = {"sc", "weak", "both", NULL};
    struct option_spec table[OPTIONS_MAX];
    unsigned n = 0;
    driver = d;
    driver_argv = argv;
    options = (struct options){.first = 1, .seeds = d->seeds, .hang = 20};
    table[n++] = option_choice("suite", &parsed.suite, suite_names(), "one suite (default: all)");
    table[n++] = option_text("test", "NAME", &options.test, "one test (default: all; see --list)");
    table[n++] = option_text("sched", "SPEC", &options.sched,
                             "one policy, as in PIRN_SCHED (default: several)");
    table[n++] = option_text("load", "FILE", &options.load,
                             "a shared library that registers a policy: run under that");
    table[n++] = option_choice("memory", &parsed.memory, memories, "sc, weak or both");
    table[n] = option_count("seed", &parsed.seed, 0, UINT64_MAX / 8, "exactly one seed");
    table[n++].flag = &options.one_seed;
    table[n++] = option_count("first", &options.first, 0, UINT64_MAX / 8, "first seed");
    table[n] = option_count("seeds", &options.seeds, 0, UINT64_MAX / 8,
                            "seeds per test, policy and memory mode; 0: as --seconds allows");
    table[n++].flag = &parsed.seeds_given;
    table[n++] = option_count("distinct", &options.distinct, 0, UINT64_MAX,
                              "go on until each suite, policy and mode has N distinct schedules");
    table[n++] =
        option_seconds("seconds", &options.seconds, "stop after so long, shared out evenly");
    table[n++] = option_count("hang", &options.hang, 1, 100000,
                              "seconds of CPU time after which a run counts as stuck");
    table[n++] =
        option_count("cpus", &options.cpus, 0, CPUS_MAX, "simulated CPUs; 0: 1 to 4, by the seed");
    table[n++] = option_choice("mutant", &parsed.mutant, mutant_names(),
                               "switch on a deliberate bug: succeed only if it is caught");
    table[n++] = option_flag("repeat", &parsed.repeat,
                             "show that runs repeat: again after others, and in a fresh process");
    table[n++] = option_flag("traced", &parsed.traced,
                             "show that the event trace is true, and changes nothing");
    table[n++] = option_text("trace", "FILE", &options.trace, "write the event trace of one run");
    table[n++] = option_flag("digest", &parsed.digest, "print one hash of all runs");
    table[n++] = option_flag("list", &parsed.list, "print suites and tests, and end");
    table[n++] =
        option_flag("verbose", &options.verbose, "hash and number of steps of the run of --seed");
    for (const struct option_spec *o = d->more; o != NULL && o->name != NULL; o++) {
        table[n++] = *o;
    }
    table[n] = (struct option_spec){0};
    options_parse(argc, argv, &(struct option_page){.summary = d->summary, .options = table});
    take();
    check();
    if (parsed.list) {
        list();
    }
}
