/* SPDX-License-Identifier: MIT */
/*
 * timed_test.c - the timed mode of the simulator (sim_timed.h). Its times are the same in each run
 * of a seed, so they are asserted.
 */
#include <pirn/pirn.h>
#include <string.h>

#include "check.h"
#include "sim.h"
#include "sim_timed.h"

enum { MS = 1000000, US = 1000, THREADS = 4, SEEDS = 5 };
#define MS_IN_PS 1000000000ull

static struct sim_config config;
static struct sim_result result;

static void simulate(void (*body)(void *))
{
    sim_run(&config, body, NULL, &result);
    if (result.failed) {
        fprintf(stderr, "FAILED: seed %" PRIu64 ", %s: %s\n", config.seed, config.sched,
                result.why);
        exit(1);
    }
}

static void begin(const char *sched, unsigned ncpu, const struct sim_timing *timing)
{
    config = (struct sim_config){.seed = 1, .ncpu = ncpu, .sched = sched, .timed = timing};
}

/* ---- several CPUs at once ---- */

static uint64_t took;

static void *computes(void *unused)
{
    (void)unused;
    sim_compute(MS_IN_PS);
    return NULL;
}

static void four_compute(void *unused)
{
    (void)unused;
    pirn_thread_t threads[THREADS];
    uint64_t from = pirn_now();
    for (unsigned i = 0; i < THREADS; i++) {
        EQUAL(pirn_create(&threads[i], NULL, computes, NULL), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_join(threads[i], NULL);
    }
    took = pirn_now() - from;
}

static void test_threads_take_the_time_of_one_when_each_has_a_cpu(void)
{
    static const char *const scheds[] = {"steal", "single", "central", "dist", "request"};
    for (unsigned i = 0; i < sizeof(scheds) / sizeof(scheds[0]); i++) {
        begin(scheds[i], 4, &sim_timing_linux);
        simulate(four_compute);
        WITHIN(took, MS, MS + 50 * US);
        begin(scheds[i], 1, &sim_timing_linux);
        simulate(four_compute);
        WITHIN(took, 4 * MS, 4 * MS + 50 * US);
    }
}

static void test_run_repeats_when_the_seed_is_the_same(void)
{
    static uint64_t hashes[SEEDS], times[SEEDS];
    bool differ = false;
    struct sim_timing i7 = sim_timing_linux;
    i7.topology = caches_topology_find("i7");
    for (unsigned i = 0; i < 2 * SEEDS; i++) {
        begin("steal", 4, &i7);
        config.seed = i < SEEDS ? i : 2 * SEEDS - 1 - i;
        simulate(four_compute);
        if (i < SEEDS) {
            hashes[config.seed] = result.hash;
            times[config.seed] = took;
        }
        EQUAL(result.hash, hashes[config.seed]);
        EQUAL(took, times[config.seed]);
        differ = differ || result.hash != hashes[0];
    }
    EQUAL(differ, true);
}

/* ---- waits ---- */

static pirn_sem_t sem;

static void *posts_late(void *unused)
{
    (void)unused;
    sim_compute(3 * MS_IN_PS);
    pirn_sem_post(&sem);
    return NULL;
}

static void waits_and_sleeps(void *unused)
{
    pirn_thread_t thread;
    (void)unused;
    pirn_sem_init(&sem, 0);
    uint64_t from = pirn_now();
    EQUAL(pirn_create(&thread, NULL, posts_late, NULL), 0);
    sim_compute(MS_IN_PS / 2);                         /* the other CPU takes the thread */
    EQUAL(pirn_sem_wait_until(&sem, from + MS), -110); /* ETIMEDOUT */
    WITHIN(pirn_now() - from, MS, MS + 50 * US);
    pirn_sem_wait(&sem);
    WITHIN(pirn_now() - from, 3 * MS, 3 * MS + 50 * US);
    pirn_sleep(2 * MS);
    WITHIN(pirn_now() - from, 5 * MS, 5 * MS + 100 * US);
    pirn_join(thread, NULL);
}

static void test_wait_ends_by_the_wakers_clock_or_the_deadline(void)
{
    begin("steal", 2, &sim_timing_linux);
    simulate(waits_and_sleeps);
}

static void slow_start(void *unused)
{
    pirn_thread_t thread;
    (void)unused;
    pirn_sleep(20 * MS); /* the other CPU sleeps */
    uint64_t from = pirn_now();
    EQUAL(pirn_create(&thread, NULL, computes, NULL), 0);
    sim_compute(MS_IN_PS);
    pirn_join(thread, NULL);
    took = pirn_now() - from;
}

static void test_wake_up_takes_the_time_that_it_is_given(void)
{
    struct sim_timing slow = sim_timing_linux;
    begin("steal", 2, &slow);
    simulate(slow_start);
    uint64_t before = took;
    slow.wake_ns += 100 * US;
    simulate(slow_start);
    EQUAL(took - before, 100 * US);
}

/* ---- ticks ---- */

static uint64_t first_end;

static void *computes_long(void *unused)
{
    (void)unused;
    sim_compute(50 * MS_IN_PS);
    first_end = first_end == 0 ? pirn_now() : first_end;
    return NULL;
}

static void two_on_one_cpu(void *unused)
{
    pirn_thread_t threads[2];
    (void)unused;
    uint64_t from = pirn_now();
    first_end = 0;
    for (unsigned i = 0; i < 2; i++) {
        EQUAL(pirn_create(&threads[i], NULL, computes_long, NULL), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        pirn_join(threads[i], NULL);
    }
    first_end -= from;
}

static void test_threads_share_a_cpu_by_ticks_when_they_preempt(void)
{
    begin("single", 1, &sim_timing_linux);
    config.preempt = "0";
    simulate(two_on_one_cpu);
    WITHIN(first_end, 50 * MS, 51 * MS);
    config.preempt = "1";
    simulate(two_on_one_cpu);
    WITHIN(first_end, 80 * MS, 101 * MS);
}

/* ---- memory ---- */

enum { BUFFER = 16 << 10, LINES = BUFFER / CACHES_LINE };
static char buffer[BUFFER] __attribute__((aligned(4096)));
static struct caches_counts reads;

static void *fills(void *unused)
{
    (void)unused;
    sim_touch(buffer, BUFFER, true);
    pirn_sem_post(&sem);
    return NULL;
}

static void *reads_twice(void *unused)
{
    struct sim_usage usage;
    (void)unused;
    pirn_sem_wait(&sem);
    uint64_t from = pirn_now();
    sim_touch(buffer, BUFFER, false);
    took = pirn_now() - from;
    sim_touch(buffer, BUFFER, false);
    sim_usage(&usage);
    reads = usage.program;
    return NULL;
}

static void pass_buffer(void *unused)
{
    pirn_thread_t threads[2];
    (void)unused;
    pirn_sem_init(&sem, 0);
    EQUAL(pirn_create(&threads[0], NULL, fills, NULL), 0); /* dist: on CPU 0 */
    EQUAL(pirn_create(&threads[1], NULL, reads_twice, NULL), 0);
    pirn_join(threads[0], NULL);
    pirn_join(threads[1], NULL);
}

/* Of LINES modified lines, each read twice. */
static void expect_reads(const char *topology, unsigned ncpu, enum caches_source source,
                         uint64_t each_ps)
{
    struct sim_timing timing = sim_timing_linux;
    timing.topology = caches_topology_find(topology);
    begin("dist", ncpu, &timing);
    simulate(pass_buffer);
    uint64_t again = source == CACHES_L1 ? LINES : 0;
    EQUAL(reads.from[0][source], LINES + again);
    EQUAL(reads.from[0][CACHES_L1], LINES + again);
    WITHIN(took * 1000, LINES * each_ps - 1000, LINES * each_ps + 1000);
}

static void test_reader_pays_for_the_way_to_its_producers_cache(void)
{
    expect_reads("i7", 1, CACHES_L1, 1300);
    expect_reads("i7", 2, CACHES_CORE, 28300);
    expect_reads("xeon", 1, CACHES_L1, 1100);
    expect_reads("xeon", 2, CACHES_CORE, 12000);
}

enum { ON_NODE_1 = 8, PLACED };

static void *touches_first(void *unused)
{
    struct sim_usage usage;
    (void)unused;
    sim_touch(buffer, BUFFER, true);
    sim_usage(&usage);
    reads = usage.program;
    return NULL;
}

static void *does_nothing(void *unused)
{
    return unused;
}

/* dist: each on the next CPU. */
static void touch_on_node_1(void *unused)
{
    pirn_thread_t threads[PLACED];
    (void)unused;
    for (unsigned i = 0; i < PLACED; i++) {
        void *(*fn)(void *) = i == ON_NODE_1 ? touches_first : does_nothing;
        EQUAL(pirn_create(&threads[i], NULL, fn, NULL), 0);
        pirn_join(threads[i], NULL);
    }
}

static void test_page_is_on_the_node_that_touches_it_first(void)
{
    struct sim_timing timing = sim_timing_linux;
    timing.topology = caches_topology_find("numa64");
    begin("dist", 64, &timing);
    simulate(touch_on_node_1);
    EQUAL(reads.from[1][CACHES_MEMORY], LINES);
    EQUAL(caches_node(sim_caches(), ON_NODE_1), 1);
    EQUAL(caches_core(sim_caches(), ON_NODE_1)->from[1][CACHES_MEMORY] >= LINES, 1);
}

static void explores(void *unused)
{
    struct sim_usage usage;
    (void)unused;
    sim_touch(buffer, BUFFER, true);
    sim_compute(MS_IN_PS);
    sim_usage(&usage);
    EQUAL(usage.run_ns, 0);
}

static void test_programs_for_the_model_run_when_it_is_off(void)
{
    begin("steal", 2, NULL);
    simulate(explores);
}

int main(void)
{
    test_threads_take_the_time_of_one_when_each_has_a_cpu();
    test_run_repeats_when_the_seed_is_the_same();
    test_wait_ends_by_the_wakers_clock_or_the_deadline();
    test_wake_up_takes_the_time_that_it_is_given();
    test_threads_share_a_cpu_by_ticks_when_they_preempt();
    test_reader_pays_for_the_way_to_its_producers_cache();
    test_page_is_on_the_node_that_touches_it_first();
    test_programs_for_the_model_run_when_it_is_off();
    return 0;
}
