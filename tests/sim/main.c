/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the suites in the simulator, under many seeds, and counts distinct schedules.
 *
 * A seed decides the test's number of CPUs, its scheduler's strategy and every choice. A failure
 * prints the command that repeats it; so does a crash.
 */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run.h"
#include "seen.h"

static const char *const default_scheds[] = {"single",
                                             "single:discipline=lifo",
                                             "central",
                                             "dist",
                                             "steal",
                                             "steal:victim=max,amount=one,end=tail,discipline=lifo",
                                             "request",
                                             "steal:discipline=posix",
                                             "request:discipline=posix,queue=heap",
                                             "dist:discipline=shmac",
                                             NULL};

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct options options = {.first = 1, .seeds = 100, .weak = 2};

static struct where here;
struct where *where = &here;

static bool seed_preempts(uint64_t seed)
{
    return seed / 4 % 2 != 0;
}

bool test_preempts(void)
{
    return seed_preempts(where->seed);
}

const char *test_sched(void)
{
    return where->place.sched;
}

static struct argp_option argp_options[] = {
    {"suite", 's', "NAME", 0,
     "core, sync, policy, classes, call, cancel, signal, prof or io (default: all)", 0},
    {"test", 't', "NAME", 0, "one test", 0},
    {"sched", 'o', "SPEC", 0, "one policy, as in PIRN_SCHED (default: all)", 0},
    {"first", 'f', "SEED", 0, "first seed (default 1)", 0},
    {"seeds", 'n', "N", 0,
     "seeds per test, policy and memory mode (default 100; 0: no limit but --seconds)", 0},
    {"seed", 'e', "SEED", 0, "exactly one seed", 0},
    {"distinct", 'd', "N", 0, "go on until each suite, policy and mode has N distinct schedules",
     0},
    {"memory", 'm', "MODE", 0, "sc, weak or both (default)", 0},
    {"mutant", 'u', "NAME", 0, "switch on a deliberate bug: succeed only if it is caught", 0},
    {"repeat", 'r', NULL, 0, "show that runs repeat: again after others, and in a fresh process",
     0},
    {"traced", 'T', NULL, 0, "show that the event trace is true, and changes nothing", 0},
    {"trace", 'w', "FILE", 0,
     "write the event trace of one run (--test, --sched, --memory, --seed)", 0},
    {"digest", 'g', NULL, 0, "print one hash of all runs", 0},
    {"cpus", 'c', "N", 0, "virtual CPUs (default: 1 to 4 by the seed)", 0},
    {"seconds", 'x', "S", 0, "stop after about S seconds, shared out evenly", 0},
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

static enum mutant mutant_number(const char *name, struct argp_state *state)
{
    for (enum mutant i = MUTANT_NONE; i < MUTANT_MAX; i++) {
        if (strcmp(name, mutant_name(i)) == 0) {
            return i;
        }
    }
    argp_error(state, "there is no mutant \"%s\": see src/core/mutant.h", name);
    return MUTANT_NONE;
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
        options.mutant = mutant_number(arg, state);
        return 0;
    case 'c':
        options.cpus = (unsigned)number(arg, state);
        return 0;
    case 'x':
        options.seconds = strtod(arg, NULL);
        return 0;
    case 'r':
        options.mode = MODE_REPEAT;
        return 0;
    case 'T':
        options.mode = MODE_TRACED;
        return 0;
    case 'w':
        options.trace = arg;
        return 0;
    case 'g':
        options.mode = MODE_DIGEST;
        return 0;
    case 'v':
        options.verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *const *scheds_of(const struct suite *suite)
{
    return suite->scheds != NULL ? suite->scheds : default_scheds;
}

static unsigned scheds_count(const struct suite *suite)
{
    unsigned n = 0;
    while (scheds_of(suite)[n] != NULL) {
        n++;
    }
    return options.sched != NULL ? 1 : n;
}

static bool suite_selected(const struct suite *suite)
{
    return options.suite == NULL || strcmp(options.suite, suite->name) == 0;
}

unsigned places_count(void)
{
    unsigned n = 0;
    for (unsigned i = 0; suites[i] != NULL; i++) {
        n += suite_selected(suites[i]) ? scheds_count(suites[i]) : 0;
    }
    return n * (options.weak == 2 ? 2 : 1);
}

struct place place_get(unsigned i)
{
    unsigned modes = options.weak == 2 ? 2 : 1;
    unsigned sched = i / modes, suite = 0;
    while (!suite_selected(suites[suite]) || sched >= scheds_count(suites[suite])) {
        sched -= suite_selected(suites[suite]) ? scheds_count(suites[suite]) : 0;
        suite++;
    }
    return (struct place){.suite = suites[suite],
                          .sched = options.sched != NULL ? options.sched
                                                         : scheds_of(suites[suite])[sched],
                          .weak = modes == 2 ? i % 2 != 0 : options.weak != 0};
}

bool test_selected(const struct test *test)
{
    return options.test == NULL || strcmp(options.test, test->name) == 0;
}

int where_print(char *text, size_t size, const struct where *w)
{
    return snprintf(text, size,
                    "repeat: %s --suite %s --test %s --sched %s --memory %s --seed %llu",
                    program_name, w->place.suite->name, w->test->name, w->place.sched,
                    w->place.weak ? "weak" : "sc", (unsigned long long)w->seed);
}

void run_one(const struct place *place, const struct test *test, uint64_t seed,
             struct sim_result *result)
{
    struct sim_config config = {.seed = seed * 4 + place->weak,
                                .ncpu = options.cpus != 0 ? options.cpus : 1 + (unsigned)(seed % 4),
                                .weak = place->weak,
                                .sched = place->sched,
                                .preempt = seed_preempts(seed) ? "1" : "0",
                                .trace = options.trace,
                                .traced = options.traced ? traced_check : NULL,
                                .mutant = options.mutant};
    where->place = *place;
    where->test = test;
    where->seed = seed;
    where->schedules++;
    sim_run(&config, test->run, NULL, result);
}

static bool run_and_tell(const struct place *place, const struct test *test, uint64_t seed)
{
    struct sim_result result;
    run_one(place, test, seed, &result);
    seen_add(result.hash);
    if (result.failed) {
        char text[256];
        where_print(text, sizeof(text), where);
        printf("FAILED %s/%s: %s\n%s\n", place->suite->name, test->name, result.why, text);
    }
    if (options.verbose && options.one_seed) {
        printf("%s/%s: hash %016llx steps %llu %s\n", place->suite->name, test->name,
               (unsigned long long)result.hash, (unsigned long long)result.steps, result.why);
    }
    return !result.failed;
}

struct totals {
    unsigned long long schedules, distinct, failures;
};

static bool place_goes_on(uint64_t seed, double until)
{
    if (options.seconds > 0 && now() >= until) {
        return false;
    }
    if (options.distinct != 0) {
        return seen_count() < options.distinct;
    }
    return seed < options.first + options.seeds || (options.seconds > 0 && options.seeds == 0);
}

#define MANY_FAILURES 5

static void run_place(const struct place *place, double until, struct totals *totals)
{
    unsigned long long schedules = 0, failures = 0;
    seen_clear();
    for (uint64_t seed = options.first; place_goes_on(seed, until); seed++) {
        for (const struct test *test = place->suite->tests;
             test->name != NULL && failures <= MANY_FAILURES; test++) {
            if (test_selected(test)) {
                failures += !run_and_tell(place, test, seed);
                schedules++;
            }
        }
        if (failures > MANY_FAILURES || schedules == 0) {
            break;
        }
    }
    printf("%-7s %-32s %-5s %8llu schedules %8zu distinct %llu failed\n", place->suite->name,
           place->sched, place->weak ? "weak" : "sc", schedules, seen_count(), failures);
    fflush(stdout);
    totals->schedules += schedules;
    totals->distinct += seen_count();
    totals->failures += failures;
}

/* On a stack of its own: the one that crashed may be a user thread's. */
static void crashed(int signal_number)
{
    char text[256];
    int n = where_print(text, sizeof(text) - 1, where);
    text[n++] = '\n';
    if (write(STDOUT_FILENO, "CRASHED\n", 8) != 8 || write(STDOUT_FILENO, text, (size_t)n) != n) {
        _exit(2);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void crashes_install(void)
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    sigaltstack(&alternative, NULL);
    for (unsigned i = 0; i < ARRAY_LENGTH(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

static int tests_main(void)
{
    struct totals totals = {0};
    unsigned places = places_count();
    double started = now();
    crashes_install();
    for (unsigned i = 0; i < places; i++) {
        struct place place = place_get(i);
        run_place(&place, started + options.seconds * (i + 1) / places, &totals);
    }
    double seconds = now() - started;
    printf("%llu schedules, %llu distinct, %llu failed, %.1f s, %.0f a second\n", totals.schedules,
           totals.distinct, totals.failures, seconds, (double)totals.schedules / seconds);
    return totals.failures != 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options, parse, NULL, "Pirn's test suites in the simulator", 0, 0, 0};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    if (places_count() == 0) {
        fprintf(stderr,
                "there is no suite \"%s\": valid are core, sync, policy, classes, call, cancel, "
                "signal, prof\n",
                options.suite);
        return 2;
    }
    switch (options.mode) {
    case MODE_TRACED:
        return traced_main();
    case MODE_REPEAT:
        return repeat_main();
    case MODE_DIGEST:
        return digest_main();
    default:
        return options.mutant != MUTANT_NONE ? mutants_main() : tests_main();
    }
}
