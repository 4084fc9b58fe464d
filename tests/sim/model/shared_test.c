/* SPDX-License-Identifier: MIT */
/*
 * shared_test.c - policies that schedule by what threads miss of a shared cache, on the model of
 * caches (sim_timed.h): the working sets that gate measures are those that the threads have.
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
 * left by the job before, it does not miss: so less may be measured than it uses. */
static void test_gate_keeps_apart_what_does_not_fit_when_it_measures(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t open = misses_under("gate:cache=256K", seed);
        uint64_t shut = misses_under("gate:cache=256K,working-set=measure", seed);
        for (unsigned i = 0; i < TASKS; i++) {
            WITHIN(tasks[i].measured, tasks[i].bytes - tasks[i].bytes / 3,
                   tasks[i].bytes + tasks[i].bytes / 10);
        }
        printf("seed %" PRIu64 ": misses %" PRIu64 ", without measuring %" PRIu64 "\n", seed, shut,
               open);
        WITHIN(shut, 0, open - 1);
    }
}

int main(void)
{
    machine_make();
    test_gate_keeps_apart_what_does_not_fit_when_it_measures();
    printf("shared cache: done\n");
    return 0;
}
