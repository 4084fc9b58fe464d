/* SPDX-License-Identifier: MIT */
/*
 * aware.c - pirn-sim-aware: the policies that schedule by what threads demand of a shared cache
 * (gate, groups, fair), each with and without, on the model of caches (sim_timed.h). The cases are
 * those of the thesis in docs/STATUS.md, section A, chapter 2 and its summary.
 *
 *     pirn-sim-aware --case jobs --seeds 3
 *
 * Prints a row of CSV for each thread: what it did, on CPUs and in all, and its misses. The
 * command `pirn bench figures cache-aware` makes a page of them.
 */
#include <pirn/pirn.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/options.h"
#include "sim.h"
#include "sim_timed.h"

enum { KB = 1024, UNIT = 56 * KB, LLC = 256 * KB, UNIT_NS = 1000000, LINE_PS = 20000 };
enum {
    UNIT_LINES = 24000,
    HORIZON = 40,
    THREADS_MAX = 32,
    TOP = 90,
    HOT = 192 * KB,
    PART = 32 * KB
};
enum { FAIR_US = 300000 };

enum kind { JOBS, ROUNDS, GOES_ON };

/* One thread of a case. */
struct actor {
    const char *name;
    enum kind kind;
    unsigned period, cost, priority; /* JOBS: in units of time; priority 0: class OTHER */
    size_t bytes;
    unsigned rounds, passes; /* ROUNDS: through the data, in each */
    unsigned data;           /* ROUNDS: 0: its own; else shared by all that have this number */
    bool fair;
    /* found */
    uint64_t n, late, lines, misses, l2_misses, first_ns, end_ns;
    double sum_ns, squares, worst_ns; /* of a job or round, on CPUs */
    uint64_t run_ns;
};

struct scene {
    const char *name;
    const char *const *ways; /* policies, ends with NULL */
    unsigned cpus;
    uint32_t l2, llc; /* bytes; 0: no L2 */
    const char *preempt, *slice;
    unsigned nactors;
    struct actor actors[THREADS_MAX];
};

static struct scene *scene;
static struct sim_config config;
static struct sim_result result;
static struct caches_topology machine;
static struct sim_timing timing;
static pirn_sem_t start[THREADS_MAX];
static uint64_t began;
static char *shared[THREADS_MAX + 1];

static void machine_make(const struct scene *s)
{
    machine = *caches_topology_find("i7");
    machine.name = "small";
    machine.cores = machine.per_node = s->cpus;
    machine.l1 = (struct caches_size){8 * KB, 8};
    machine.l2 = s->l2 != 0 ? (struct caches_size){s->l2, 8} : (struct caches_size){0};
    machine.llc = (struct caches_size){s->llc, 16};
    timing = sim_timing_linux;
    timing.topology = &machine;
    timing.tick = "1000";
    timing.slice = s->slice;
}

/* ---- threads ---- */

static void note(struct actor *a, uint64_t ns)
{
    a->n++;
    a->sum_ns += (double)ns;
    a->squares += (double)ns * (double)ns;
    a->worst_ns = (double)ns > a->worst_ns ? (double)ns : a->worst_ns;
}

static void count(struct actor *a, const struct sim_usage *from)
{
    struct sim_usage now;
    sim_usage(&now);
    a->run_ns = now.run_ns - from->run_ns;
    a->misses = caches_misses(&now.program, false, CACHES_LLC) -
                caches_misses(&from->program, false, CACHES_LLC);
    a->l2_misses = caches_misses(&now.program, false, CACHES_L2) -
                   caches_misses(&from->program, false, CACHES_L2);
    a->end_ns = pirn_now() - began;
}

/* Goes through so many lines of the buffer, from *at on, again and again. */
static void work(struct actor *a, const char *buffer, size_t *at, uint64_t lines)
{
    while (lines != 0) {
        uint64_t left = (a->bytes - *at) / CACHES_LINE, most = 4 * KB / CACHES_LINE;
        uint64_t n = lines < left ? lines : left;
        n = n < most ? n : most;
        sim_touch(buffer + *at, n * CACHES_LINE, false);
        sim_compute(n * LINE_PS);
        *at = (*at + n * CACHES_LINE) % a->bytes;
        lines -= n;
        a->lines += n;
    }
}

/* A job goes through its data for `cost` units of time, if all of it is in the cache. The first one
 * fills the cache, and is not counted. */
static void do_jobs(struct actor *a, const char *buffer)
{
    struct sim_usage first = {0}, before, now;
    size_t at = 0;
    uint64_t until = began + (uint64_t)HORIZON * UNIT_NS;
    a->first_ns = pirn_now() - began;
    for (bool counted = false; pirn_now() < until; counted = true) {
        sim_usage(&before);
        if (counted && first.run_ns == 0) {
            first = before;
        }
        work(a, buffer, &at, (uint64_t)a->cost * UNIT_LINES);
        sim_usage(&now);
        if (counted) {
            note(a, now.run_ns - before.run_ns);
        }
        a->late += pirn_job_wait() > 0;
    }
    count(a, &first);
}

static void do_rounds(struct actor *a, const char *buffer)
{
    struct sim_usage first = {0}, before, now;
    size_t at = 0;
    a->first_ns = pirn_now() - began;
    for (unsigned i = 0; i < a->rounds; i++) {
        sim_usage(&before);
        if (i == 1) {
            first = before;
        }
        work(a, buffer, &at, a->passes * a->bytes / CACHES_LINE);
        sim_usage(&now);
        if (i != 0) {
            note(a, now.run_ns - before.run_ns);
        }
        pirn_yield();
    }
    count(a, &first);
}

/* Until the end: the first part of its data, the first two, and so on, so that a neighbour evicts
 * the last parts first. Without data it computes. */
static void go_on(struct actor *a, const char *buffer)
{
    struct sim_usage first = {0};
    uint64_t until = began + (uint64_t)FAIR_US * 1000;
    size_t end = PART;
    while (pirn_now() < until) {
        if (a->bytes == 0) {
            sim_compute(1000000);
            continue;
        }
        for (size_t at = 0; at < end && pirn_now() < until; at += 4 * KB) {
            sim_touch(buffer + at, 4 * KB, false);
            sim_compute(4 * KB / CACHES_LINE * 3 * LINE_PS);
            a->lines += 4 * KB / CACHES_LINE;
        }
        end = end < a->bytes ? end + PART : PART;
    }
    count(a, &first);
}

static void *acts(void *arg)
{
    struct actor *a = arg;
    static const unsigned long us = 1000;
    char *own = a->data == 0 ? aligned_alloc(4 * KB, a->bytes + 4 * KB) : NULL;
    const char *buffer = a->data == 0 ? own : shared[a->data];
    pirn_demand_t demand = {.period_ns = (uint64_t)a->period * UNIT_NS,
                            .cost_ns = (uint64_t)a->cost * 1000 * us,
                            .working_set = a->kind == GOES_ON ? a->fair : a->bytes,
                            .group = a->data};
    EQUAL(pirn_set_demand(pirn_self(), &demand), 0);
    pirn_sem_wait(&start[a - scene->actors]);
    if (a->kind == JOBS) {
        do_jobs(a, buffer);
    } else if (a->kind == ROUNDS) {
        do_rounds(a, buffer);
    } else {
        go_on(a, buffer);
    }
    free(own);
    return NULL;
}

static void spawn(struct actor *a, pirn_thread_t *t)
{
    pirn_sched_t s = {PIRN_CLASS_FIFO, a->priority, 0};
    pirn_attr_t attr = {.sched = a->priority != 0 ? &s : NULL};
    EQUAL(pirn_create(t, &attr, acts, a), 0);
}

/* All wait until main lets them begin, in their order: the most urgent first. */
static void play(void *unused)
{
    (void)unused;
    pirn_thread_t t[THREADS_MAX];
    if (scene->actors[0].priority != 0) {
        pirn_sched_t top = {PIRN_CLASS_FIFO, TOP, 0};
        EQUAL(pirn_set_sched(pirn_self(), &top), 0);
    }
    for (unsigned i = 0; i < scene->nactors; i++) {
        pirn_sem_init(&start[i], 0);
        spawn(&scene->actors[i], &t[i]);
    }
    pirn_sleep(1000000); /* they wait */
    began = pirn_now();
    for (unsigned i = 0; i < scene->nactors; i++) {
        pirn_sem_post(&start[i]);
    }
    for (unsigned i = 0; i < scene->nactors; i++) {
        pirn_join(t[i], NULL);
    }
}

/* ---- cases ---- */

static const char *const jobs_ways[] = {"single:discipline=posix",
                                        "gate:discipline=posix,cache=224K", NULL};
static const char *const edf_ways[] = {"single", "gate:order=edf,cache=224K", NULL};
static const char *const pair_ways[] = {"single", "gate:cache=224K", NULL};
static const char *const fair_ways[] = {"fair", NULL};
static const char *const home_ways[] = {"single", "groups:cache=1M", NULL};
static const char *const none_ways[] = {"single", "groups:home=none,cache=224K", NULL};

#define JOB(name_, period_, cost_, units, priority_)                                               \
    {                                                                                              \
        .name = name_, .kind = JOBS, .period = period_, .cost = cost_, .bytes = (units)*UNIT,      \
        .priority = priority_                                                                      \
    }
#define ROUND(name_, bytes_, rounds_, passes_)                                                     \
    {                                                                                              \
        .name = name_, .kind = ROUNDS, .bytes = bytes_, .rounds = rounds_, .passes = passes_       \
    }
#define RUNS(name_, bytes_, fair_)                                                                 \
    {                                                                                              \
        .name = name_, .kind = GOES_ON, .bytes = bytes_, .fair = fair_                             \
    }

/* A with HOT bytes beside B with `bytes_`, and two that compute. */
#define PAIR(name_, bytes_, fair_)                                                                 \
    {                                                                                              \
        .name = name_, .ways = fair_ways, .cpus = 2, .llc = LLC, .preempt = "1", .slice = "4000",  \
        .nactors = 4, .actors = {                                                                  \
            RUNS("A", HOT, fair_),                                                                 \
            RUNS("B", bytes_, fair_),                                                              \
            RUNS("C", 0, false),                                                                   \
            RUNS("D", 0, false)                                                                    \
        }                                                                                          \
    }

static struct scene scenes[] = {
    /* Table 2.1, three cores. A unit of the cache is 56 KB: four of them and the runtime's own data
     * fit into 256 KB. */
    {.name = "jobs",
     .ways = jobs_ways,
     .cpus = 3,
     .llc = LLC,
     .preempt = "0",
     .nactors = 4,
     .actors = {JOB("T1", 3, 2, 1, 50), JOB("T2", 4, 3, 2, 40), JOB("T3", 5, 3, 2, 30),
                JOB("T4", 8, 3, 1, 20)}},
    {.name = "deadlines",
     .ways = edf_ways,
     .cpus = 3,
     .llc = LLC,
     .preempt = "0",
     .nactors = 4,
     .actors = {JOB("T1", 3, 2, 1, 0), JOB("T2", 4, 3, 2, 0), JOB("T3", 5, 3, 2, 0),
                JOB("T4", 8, 3, 1, 0)}},
    /* The summary's A, B and C: 512, 768 and 256 KB on two cores that share 1 MB; here 7/32. */
    {.name = "three",
     .ways = pair_ways,
     .cpus = 2,
     .llc = LLC,
     .preempt = "0",
     .nactors = 3,
     .actors = {ROUND("A", 112 * KB, 30, 8), ROUND("B", 168 * KB, 30, 8),
                ROUND("C", 56 * KB, 30, 8)}},
    /* Figure 2.7: one with 192 KB beside a modest and a hungry one, and two that compute. */
    PAIR("modest, equal", PART, false),
    PAIR("hungry, equal", 512 * KB, false),
    PAIR("modest, fair", PART, true),
    PAIR("hungry, fair", 512 * KB, true),
    /* Figures 2.9 and 2.10; the actors are made by groups_make. */
    {.name = "private",
     .ways = home_ways,
     .cpus = 4,
     .l2 = 64 * KB,
     .llc = 1024 * KB,
     .preempt = "0"},
    {.name = "shared", .ways = none_ways, .cpus = 4, .llc = LLC, .preempt = "0"},
};
enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

/* Groups of threads that read the same data, one thread of each group after the other. */
static void groups_make(struct scene *s, unsigned groups, unsigned each, size_t bytes,
                        unsigned rounds)
{
    static char names[SCENES][THREADS_MAX][16];
    s->nactors = groups * each;
    for (unsigned i = 0; i < s->nactors; i++) {
        char *name = names[s - scenes][i];
        snprintf(name, sizeof(names[0][0]), "%c%u", (int)('Q' + i % groups), i / groups + 1);
        s->actors[i] = (struct actor){.name = name,
                                      .kind = ROUNDS,
                                      .bytes = bytes,
                                      .rounds = rounds,
                                      .passes = 1,
                                      .data = 1 + i % groups};
    }
}

static void run(struct scene *s, const char *way, uint64_t seed)
{
    struct actor before[THREADS_MAX];
    memcpy(before, s->actors, sizeof(before));
    scene = s;
    machine_make(s);
    for (unsigned i = 1; i <= THREADS_MAX; i++) {
        shared[i] = aligned_alloc(4 * KB, UNIT);
    }
    config = (struct sim_config){
        .seed = seed, .ncpu = s->cpus, .sched = way, .preempt = s->preempt, .timed = &timing};
    sim_run(&config, play, NULL, &result);
    if (result.failed) {
        fprintf(stderr, "FAILED: %s, seed %" PRIu64 ", %s: %s\n", s->name, seed, way, result.why);
        exit(1);
    }
    for (unsigned i = 0; i < s->nactors; i++) {
        const struct actor *a = &s->actors[i];
        printf("\"%s\",\"%s\",%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%.1f,%.1f,%.1f,%" PRIu64
               ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
               s->name, way, seed, a->name, a->n, a->late, a->sum_ns, a->squares, a->worst_ns,
               a->lines, a->misses, a->l2_misses, a->first_ns, a->end_ns, a->run_ns);
    }
    memcpy(s->actors, before, sizeof(before));
    for (unsigned i = 1; i <= THREADS_MAX; i++) {
        free(shared[i]);
    }
}

int main(int argc, char **argv)
{
    static const char *names[SCENES + 1];
    long chosen = -1;
    uint64_t seeds = 1;
    for (unsigned i = 0; i < SCENES; i++) {
        names[i] = scenes[i].name;
    }
    const struct option_spec options[] = {
        option_choice("case", &chosen, names, "one case (default: all)"),
        option_count("seeds", &seeds, 1, 1000, "runs of each, with seeds from 1 on"),
        {0}};
    options_parse(argc, argv,
                  &(struct option_page){.summary = "Cache-aware policies on the model of caches.",
                                        .options = options});
    groups_make(&scenes[SCENES - 2], 4, 4, 48 * KB, 30);
    groups_make(&scenes[SCENES - 1], 8, 3, 48 * KB, 30);
    printf("case,way,seed,thread,n,late,sum_ns,squares,worst_ns,lines,misses,l2_misses,first_ns,"
           "end_ns,run_ns\n");
    for (unsigned i = 0; i < SCENES; i++) {
        for (unsigned k = 0; scenes[i].ways[k] != NULL && (chosen < 0 || chosen == (long)i); k++) {
            for (uint64_t seed = 1; seed <= seeds; seed++) {
                run(&scenes[i], scenes[i].ways[k], seed);
            }
        }
    }
    return 0;
}
