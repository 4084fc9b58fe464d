/* SPDX-License-Identifier: MIT */
/*
 * shared_test.c - policies that schedule by what threads miss of a shared cache, on the model of
 * caches (sim_timed.h): the working sets that gate measures are those that the threads have, and
 * under fair a thread's progress depends less on who shares the cache with it.
 */
#include <pirn/pirn.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sim.h"
#include "sim_timed.h"

enum { US = 1000, KB = 1024, LLC = 256 * KB, SEEDS = 3, JOBS = 40 };

static struct sim_config config;
static struct sim_result result;
static struct caches_topology machine;
static struct sim_timing timing;

/* Two cores on a small shared cache, so that few accesses fill it; latencies of i7. */
static void machine_make(void)
{
    machine = *caches_topology_find("i7");
    machine.name = "small";
    machine.cores = machine.per_node = 2;
    machine.l1 = (struct caches_size){8 * KB, 8};
    machine.l2 = (struct caches_size){0};
    machine.llc = (struct caches_size){LLC, 16};
    timing = sim_timing_linux;
    timing.topology = &machine;
}

static void simulate(const char *sched, uint64_t seed, void (*body)(void *))
{
    config = (struct sim_config){
        .seed = seed, .ncpu = 2, .sched = sched, .preempt = "1", .timed = &timing};
    sim_run(&config, body, NULL, &result);
    if (result.failed) {
        fprintf(stderr, "FAILED: seed %" PRIu64 ", %s: %s\n", seed, sched, result.why);
        exit(1);
    }
}

/* ---- gate: measured working sets ---- */

struct task {
    size_t bytes;      /* each job goes through so many, twice */
    uint64_t measured; /* what gate knows of it in the end */
    uint64_t misses;   /* of the shared cache, in the later half of its jobs */
};

static uint64_t misses_now(void)
{
    struct sim_usage used;
    sim_usage(&used);
    return caches_misses(&used.program, false, CACHES_LLC);
}

static void *does_jobs(void *arg)
{
    struct task *task = arg;
    char *buffer = aligned_alloc(CACHES_LINE, task->bytes);
    pirn_demand_t demand = {.period_ns = 4000 * US};
    EQUAL(pirn_set_demand(pirn_self(), &demand), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        task->misses = i == JOBS / 2 ? misses_now() : task->misses;
        sim_touch(buffer, task->bytes, false);
        sim_touch(buffer, task->bytes, false);
        WITHIN(pirn_job_wait(), 0, INT32_MAX);
    }
    task->misses = misses_now() - task->misses;
    task->measured = sim_measured();
    free(buffer);
    return NULL;
}

static struct task tasks[] = {{.bytes = 32 * KB}, {.bytes = 96 * KB}, {.bytes = 192 * KB}};
enum { TASKS = sizeof(tasks) / sizeof(tasks[0]) };

static void tasks_run(void *unused)
{
    (void)unused;
    pirn_thread_t threads[TASKS];
    for (unsigned i = 0; i < TASKS; i++) {
        EQUAL(pirn_create(&threads[i], NULL, does_jobs, &tasks[i]), 0);
    }
    for (unsigned i = 0; i < TASKS; i++) {
        pirn_join(threads[i], NULL);
    }
}

static uint64_t misses_under(const char *sched, uint64_t seed)
{
    uint64_t sum = 0;
    simulate(sched, seed, tasks_run);
    for (unsigned i = 0; i < TASKS; i++) {
        sum += tasks[i].misses;
    }
    return sum;
}

/* None declares anything: without measuring, the gate stands open. What a job finds in the cache,
 * left by the job before, it does not miss: so less may be measured than it uses. How much also
 * depends on where the linker has put the runtime's data, which is in the same cache. */
static void test_gate_keeps_apart_what_does_not_fit_when_it_measures(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t open = misses_under("gate:cache=256K", seed);
        uint64_t shut = misses_under("gate:cache=256K,working-set=measure", seed);
        for (unsigned i = 0; i < TASKS; i++) {
            WITHIN(tasks[i].measured, tasks[i].bytes - tasks[i].bytes / 2,
                   tasks[i].bytes + tasks[i].bytes / 10);
        }
        printf("seed %" PRIu64 ": misses %" PRIu64 ", without measuring %" PRIu64 "\n", seed, shut,
               open);
        WITHIN(shut, 0, open - 1);
    }
}

/* ---- fair: slices by what the cache costs ---- */

enum { SUBJECT = 192 * KB, PART = 32 * KB, RUN_US = 400000, LINE_PS = 60000, SLICE_US = 4000 };

/* Time by which some threads can be ahead of the others at the end, twice, since those are behind
 * by as much: the pool of fair.c holds four slices, and both CPUs run one. */
#define AHEAD_NS ((uint64_t)2 * (4 + 2) * SLICE_US * 1000)

/* A thread that goes through its data again and again until the end: through the first part, the
 * first two, and so on. So the last parts are those that its neighbours evict first. */
struct runner {
    size_t bytes;   /* 0: it only computes */
    bool fair;      /* it declares a working set: the policy corrects its slices */
    uint64_t lines; /* that it went through */
    uint64_t ns;    /* its time on CPUs */
};

static struct runner runners[4];
static uint64_t until;

static void *goes_on(void *arg)
{
    struct runner *r = arg;
    char *buffer = aligned_alloc(CACHES_LINE, r->bytes + CACHES_LINE);
    size_t end = PART;
    pirn_demand_t demand = {.working_set = r->fair};
    EQUAL(pirn_set_demand(pirn_self(), &demand), 0);
    while (pirn_now() < until) {
        if (r->bytes == 0) {
            sim_compute(1000000);
            continue;
        }
        for (size_t at = 0; at < end && pirn_now() < until; at += 4 * KB) {
            sim_touch(buffer + at, 4 * KB, false);
            sim_compute(4 * KB / CACHES_LINE * LINE_PS);
            r->lines += 4 * KB / CACHES_LINE;
        }
        end = end < r->bytes ? end + PART : PART;
    }
    struct sim_usage used;
    sim_usage(&used);
    r->ns = used.run_ns;
    free(buffer);
    return NULL;
}

static void runners_run(void *unused)
{
    (void)unused;
    pirn_thread_t threads[4];
    until = pirn_now() + (uint64_t)RUN_US * US;
    for (unsigned i = 0; i < 4; i++) {
        EQUAL(pirn_create(&threads[i], NULL, goes_on, &runners[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pirn_join(threads[i], NULL);
    }
}

/* What the first thread gets done beside one with so much data, and two that only compute. */
static uint64_t progress(uint64_t seed, size_t beside, bool fair)
{
    memset(runners, 0, sizeof(runners));
    runners[0] = (struct runner){.bytes = SUBJECT, .fair = fair};
    runners[1] = (struct runner){.bytes = beside, .fair = fair};
    simulate("fair", seed, runners_run);
    uint64_t first = runners[0].ns + runners[1].ns, others = runners[2].ns + runners[3].ns;
    WITHIN(first, others - AHEAD_NS, others + AHEAD_NS); /* these pay for those */
    return runners[0].lines;
}

/* In thousandths: how much less it gets done beside a hungry thread than beside a modest one. */
static uint64_t loss(uint64_t seed, bool fair)
{
    uint64_t modest = progress(seed, PART, fair), hungry = progress(seed, 512 * KB, fair);
    return modest > hungry ? (modest - hungry) * 1000 / modest : 0;
}

static void test_fair_slices_make_progress_depend_less_on_co_runners(void)
{
    timing.tick = "1000";
    timing.slice = "4000";
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t equal = loss(seed, false), fair = loss(seed, true);
        printf("seed %" PRIu64 ": a hungry neighbour costs %.1f %%, with equal slices %.1f %%\n",
               seed, (double)fair / 10, (double)equal / 10);
        WITHIN(fair, 0, equal - 1);
    }
}

int main(void)
{
    machine_make();
    test_fair_slices_make_progress_depend_less_on_co_runners();
    test_gate_keeps_apart_what_does_not_fit_when_it_measures();
    printf("shared cache: done\n");
    return 0;
}
