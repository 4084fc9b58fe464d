/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the suites in the simulator, under many seeds, and counts distinct schedules.
 *
 * A seed decides the test's number of CPUs, its scheduler's strategy and every choice. A failure
 * prints the command that repeats it.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"
#include "suite.h"

static const struct suite *const suites[] = {&suite_core, &suite_sync, &suite_policy};

static const char *const default_scheds[] = {"single", "single:discipline=lifo", NULL};

static struct options {
    const char *suite, *test, *sched, *mutant;
    uint64_t first, seeds, distinct;
    int weak; /* 0 no, 1 yes, 2 both */
    double seconds;
    bool verbose, one_seed;
    unsigned cpus;
} options = {.first = 1, .seeds = 100, .weak = 2};

static const char *const mutant_names[MUTANT_MAX] = {
    "none",       "publish-early", "no-recheck", "no-idle-fence",  "no-bias-fence",
    "mutex-drop", "cond-drop",     "sem-double", "rwlock-readers", "barrier-early",
    "once-drop",  "fe-double",     "timed-stay", "join-early"};

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

static struct argp_option argp_options[] = {
    {"suite", 's', "NAME", 0, "core, sync or policy (default: all)", 0},
    {"test", 't', "NAME", 0, "one test", 0},
    {"sched", 'o', "SPEC", 0, "one organization, as in PIRN_SCHED (default: all)", 0},
    {"first", 'f', "SEED", 0, "first seed (default 1)", 0},
    {"seeds", 'n', "N", 0, "seeds per test, organization and memory mode (default 100)", 0},
    {"seed", 'e', "SEED", 0, "exactly one seed", 0},
    {"distinct", 'd', "N", 0,
     "go on until each suite, organization and mode has N distinct schedules", 0},
    {"memory", 'm', "MODE", 0, "sc, weak or both (default)", 0},
    {"mutant", 'u', "NAME", 0, "switch on a deliberate bug: succeed only if it is caught", 0},
    {"cpus", 'c', "N", 0, "virtual CPUs (default: 1 to 4 by the seed)", 0},
    {"seconds", 'x', "S", 0, "stop after about S seconds", 0},
    {"verbose", 'v', NULL, 0, "a line per test", 0},
    {0}};

static unsigned long long number(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 0);
    if (end == text || *end != '\0') {
        argp_error(state, "\"%s\" is not a number", text);
    }
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 's':
        options.suite = arg;
        return 0;
    case 't':
        options.test = arg;
        return 0;
    case 'o':
        options.sched = arg;
        return 0;
    case 'f':
        options.first = number(arg, state);
        return 0;
    case 'n':
        options.seeds = number(arg, state);
        return 0;
    case 'e':
        options.first = number(arg, state);
        options.seeds = 1;
        options.one_seed = true;
        return 0;
    case 'd':
        options.distinct = number(arg, state);
        return 0;
    case 'm':
        options.weak = strcmp(arg, "sc") == 0     ? 0
                       : strcmp(arg, "weak") == 0 ? 1
                       : strcmp(arg, "both") == 0 ? 2
                                                  : -1;
        if (options.weak < 0) {
            argp_error(state, "memory mode \"%s\": valid are sc, weak, both", arg);
        }
        return 0;
    case 'u':
        options.mutant = arg;
        return 0;
    case 'c':
        options.cpus = (unsigned)number(arg, state);
        return 0;
    case 'x':
        options.seconds = strtod(arg, NULL);
        return 0;
    case 'v':
        options.verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Open-addressing set of hashes. */
static struct {
    uint64_t *slots;
    size_t size, used;
} seen;

static void seen_clear(void)
{
    seen.used = 0;
    if (seen.slots != NULL) {
        memset(seen.slots, 0, seen.size * sizeof(uint64_t));
    }
}

static void seen_add(uint64_t hash);

static void seen_grow(void)
{
    uint64_t *old = seen.slots;
    size_t old_size = seen.size;
    seen.size = old_size != 0 ? old_size * 2 : 4096;
    seen.slots = calloc(seen.size, sizeof(uint64_t));
    seen.used = 0;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i] != 0) {
            seen_add(old[i]);
        }
    }
    free(old);
}

static void seen_add(uint64_t hash)
{
    if (seen.used * 2 >= seen.size) {
        seen_grow();
    }
    hash = hash != 0 ? hash : 1;
    for (size_t i = hash % seen.size;; i = (i + 1) % seen.size) {
        if (seen.slots[i] == hash) {
            return;
        }
        if (seen.slots[i] == 0) {
            seen.slots[i] = hash;
            seen.used++;
            return;
        }
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double started;

static bool out_of_time(void)
{
    return options.seconds > 0 && now() - started > options.seconds;
}

static unsigned mutant_number(void)
{
    for (unsigned i = 0; i < MUTANT_MAX; i++) {
        if (options.mutant != NULL && strcmp(options.mutant, mutant_names[i]) == 0) {
            return i;
        }
    }
    if (options.mutant != NULL) {
        fprintf(stderr, "there is no mutant \"%s\"\n", options.mutant);
        exit(2);
    }
    return MUTANT_NONE;
}

static bool run_one(const struct suite *suite, const struct test *test, const char *sched,
                    bool weak, uint64_t seed)
{
    struct sim_config config = {.seed = seed * 4 + weak,
                                .ncpu = options.cpus != 0 ? options.cpus : 1 + (unsigned)(seed % 4),
                                .weak = weak,
                                .sched = sched,
                                .mutant = mutant_number()};
    struct sim_result result;
    sim_run(&config, test->run, NULL, &result);
    seen_add(result.hash ^ (uint64_t)(uintptr_t)test->name);
    if (result.failed && options.mutant == NULL) {
        printf("FAILED %s/%s sched %s memory %s seed %llu: %s\n", suite->name, test->name, sched,
               weak ? "weak" : "sc", (unsigned long long)seed, result.why);
        printf("repeat: pirn-sim-tests --suite %s --test %s --sched %s --memory %s --seed %llu\n",
               suite->name, test->name, sched, weak ? "weak" : "sc", (unsigned long long)seed);
    }
    if (options.verbose && options.one_seed) {
        printf("%s/%s: hash %016llx steps %llu %s\n", suite->name, test->name,
               (unsigned long long)result.hash, (unsigned long long)result.steps, result.why);
    }
    return !result.failed;
}

struct totals {
    unsigned long long schedules, distinct, failures;
};

static void run_suite(const struct suite *suite, const char *sched, bool weak,
                      struct totals *totals)
{
    unsigned long long schedules = 0, failures = 0;
    seen_clear();
    for (uint64_t seed = options.first; !out_of_time(); seed++) {
        if (options.distinct != 0 ? seen.used >= options.distinct
                                  : seed >= options.first + options.seeds) {
            break;
        }
        for (const struct test *test = suite->tests; test->name != NULL; test++) {
            if (options.test != NULL && strcmp(options.test, test->name) != 0) {
                continue;
            }
            failures += !run_one(suite, test, sched, weak, seed);
            schedules++;
            if (failures != 0 && (options.mutant != NULL || failures > 5)) {
                goto end;
            }
        }
    }
end:
    printf("%-7s %-32s %-5s %8llu schedules %8zu distinct %llu failed\n", suite->name, sched,
           weak ? "weak" : "sc", schedules, seen.used, failures);
    fflush(stdout);
    totals->schedules += schedules;
    totals->distinct += seen.used;
    totals->failures += failures;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options, parse, NULL, "Pirn's test suites in the simulator", 0, 0, 0};
    struct totals totals = {0};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    started = now();
    for (unsigned i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        if (options.suite != NULL && strcmp(options.suite, suites[i]->name) != 0) {
            continue;
        }
        const char *one[] = {options.sched, NULL};
        for (const char *const *sched = options.sched != NULL ? one : default_scheds;
             *sched != NULL; sched++) {
            for (int weak = 0; weak < 2; weak++) {
                if (options.weak == 2 || options.weak == weak) {
                    run_suite(suites[i], *sched, weak, &totals);
                }
            }
        }
    }
    printf("%llu schedules, %llu distinct, %llu failed, %.1f s\n", totals.schedules,
           totals.distinct, totals.failures, now() - started);
    if (options.mutant != NULL) {
        printf("mutant %s: %s\n", options.mutant, totals.failures != 0 ? "caught" : "NOT CAUGHT");
        return totals.failures != 0 ? 0 : 1;
    }
    return totals.failures != 0;
}
