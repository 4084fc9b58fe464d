/* SPDX-License-Identifier: MIT */
/*
 * driver.c - runs suites in the simulator, under many seeds, and counts distinct schedules.
 *
 * A seed determines the test's number of CPUs, its scheduler's strategy and every choice. A failure
 * prints the command that repeats it. So does a run that crashes, that is interrupted, or that
 * takes --hang seconds of CPU time, because the simulator cannot end such a run.
 */
#include "driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "seen.h"

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define MANY_FAILURES 5

const char *const driver_scheds[] = {"single",
                                     "single:discipline=lifo",
                                     "central",
                                     "dist",
                                     "steal",
                                     "steal:victim=max,amount=one,end=tail,discipline=lifo",
                                     "request",
                                     "hw",
                                     "steal:discipline=posix",
                                     "steal:capacity=on",
                                     "steal:discipline=posix,capacity=on",
                                     "dist:capacity=on",
                                     "request:discipline=posix,queue=heap",
                                     "dist:discipline=shmac",
                                     "steal:affinity=declared",
                                     "single:affinity=declared",
                                     "dist:affinity=declared",
                                     "steal:discipline=posix,affinity=declared",
                                     "steal:affinity=auto",
                                     "steal:affinity=old",
                                     "gate",
                                     "gate:discipline=posix",
                                     "gate:order=edf",
                                     "groups",
                                     "groups:home=none",
                                     "fair",
                                     NULL};

static struct where here;
struct where *where = &here;

static bool seed_preempts(uint64_t seed)
{
    return seed / 4 % 2 != 0;
}

/* Do CPUs have different capacities? Suite classes keeps each CPU busy by a thread, and under
 * pinned policies counts on it that threads go round the CPUs in turn. */
static bool is_unequal(const struct place *place, uint64_t seed)
{
    bool pinned = strncmp(place->sched, "central", 7) == 0 || strncmp(place->sched, "dist", 4) == 0;
    return seed / 8 % 2 != 0 && !(pinned && strcmp(place->suite->name, "classes") == 0);
}

bool test_preempts(void)
{
    return seed_preempts(where->seed);
}

const char *test_sched(void)
{
    return where->place.sched;
}

int where_print(char *text, size_t size, const struct where *w)
{
    char cpus[32] = "";
    bool mutant = options.mutant != MUTANT_NONE;
    if (options.cpus != 0) {
        snprintf(cpus, sizeof(cpus), " --cpus %llu", (unsigned long long)options.cpus);
    }
    return snprintf(
        text, size,
        "repeat: %s%s%s%s --suite %s --test %s --sched %s --memory %s --seed %llu%s%s%s",
        driver->name, driver->chosen != NULL ? driver->chosen() : "",
        options.load != NULL ? " --load " : "", options.load != NULL ? options.load : "",
        w->place.suite->name, w->test->name, w->place.sched, w->place.weak ? "weak" : "sc",
        (unsigned long long)w->seed, cpus, mutant ? " --mutant " : "",
        mutant ? mutant_names()[options.mutant] : "");
}

void run_one(const struct place *place, const struct test *test, uint64_t seed,
             struct sim_result *result)
{
    struct sim_config config = {.seed = seed * 4 + place->weak,
                                .ncpu = options.cpus != 0 ? (unsigned)options.cpus
                                                          : 1 + (unsigned)(seed % 4),
                                .weak = place->weak,
                                .sched = place->sched,
                                .preempt = seed_preempts(seed) ? "1" : "0",
                                .nodes = seed / 16 % 2 != 0 ? 2 : 0,
                                .unequal = is_unequal(place, seed),
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
        char text[WHERE_TEXT];
        where_print(text, sizeof(text), where);
        printf("FAILED %s/%s: %s\n%s\n", place->suite->name, test->name, result.why, text);
    }
    if (options.verbose && options.one_seed) {
        printf("%s/%s: hash %016llx steps %llu %s\n", place->suite->name, test->name,
               (unsigned long long)result.hash, (unsigned long long)result.steps, result.why);
    }
    return !result.failed;
}

/* ---- runs that do not end ---- */

/* On a stack of its own, because the crashed stack may be a user thread's. */
static void tell(const char *what)
{
    char text[WHERE_TEXT];
    int n = snprintf(text, sizeof(text), "%s\n", what);
    if (where->test != NULL) {
        n += where_print(text + n, sizeof(text) - (size_t)n - 1, where);
        n = n < WHERE_TEXT - 1 ? n : WHERE_TEXT - 2;
        text[n++] = '\n';
    }
    if (write(STDOUT_FILENO, text, (size_t)n) != n) {
        _exit(2);
    }
}

static void ended_by(int number)
{
    tell(number == SIGINT || number == SIGTERM ? "INTERRUPTED" : "CRASHED");
    signal(number, SIG_DFL);
    raise(number);
}

/* A second call in the same run means that the run is stuck. */
static void time_passed(int number)
{
    static unsigned long long seen;
    (void)number;
    if (where->schedules == seen && seen != 0) {
        tell("HANGS");
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    seen = where->schedules;
}

static void ends_install(void)
{
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = ended_by, .sa_flags = SA_ONSTACK};
    struct sigaction watch = {.sa_handler = time_passed, .sa_flags = SA_ONSTACK | SA_RESTART};
    time_t seconds = (time_t)options.hang;
    struct itimerval often = {{seconds, 0}, {seconds, 0}};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGINT, SIGTERM};
    sigaltstack(&alternative, NULL);
    for (unsigned i = 0; i < ARRAY_LENGTH(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
    }
    sigaction(SIGPROF, &watch, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
}

/* ---- all runs ---- */

struct totals {
    unsigned long long schedules, distinct, failures;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

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

static void run_place(const struct place *place, double until, struct totals *totals)
{
    unsigned long long schedules = 0, failures = 0;
    seen_clear();
    for (uint64_t seed = options.first; failures <= MANY_FAILURES && place_goes_on(seed, until);
         seed++) {
        for (const struct test *test = place->suite->tests;
             test->name != NULL && failures <= MANY_FAILURES; test++) {
            if (test_selected(test)) {
                failures += !run_and_tell(place, test, seed);
                schedules++;
            }
        }
    }
    printf("%-7s %-32s %-5s %8llu schedules %8zu distinct %llu failed\n", place->suite->name,
           place->sched, place->weak ? "weak" : "sc", schedules, seen_count(), failures);
    totals->schedules += schedules;
    totals->distinct += seen_count();
    totals->failures += failures;
}

static int tests_main(void)
{
    struct totals totals = {0};
    unsigned places = places_count();
    double started = now();
    for (unsigned i = 0; i < places; i++) {
        struct place place = place_get(i);
        run_place(&place, started + options.seconds * (i + 1) / places, &totals);
    }
    double seconds = now() - started;
    printf("%llu schedules, %llu distinct, %llu failed, %.1f s, %.0f a second\n", totals.schedules,
           totals.distinct, totals.failures, seconds, (double)totals.schedules / seconds);
    return totals.failures != 0 || totals.schedules == 0;
}

int driver_main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash loses no earlier output */
    if (options.mode == MODE_TESTS && options.mutant != MUTANT_NONE) {
        return mutants_main(); /* it watches its runs itself */
    }
    ends_install();
    switch (options.mode) {
    case MODE_TRACED:
        return traced_main();
    case MODE_REPEAT:
        return repeat_main();
    case MODE_DIGEST:
        return digest_main();
    default:
        return tests_main();
    }
}
