/* SPDX-License-Identifier: MIT */
/*
 * scaling.c - pirn-sim-scaling: how much a workload gains from more CPUs, in simulated time, and
 * which cache lines of the runtime cost what (sim_timed.h).
 *
 *     pirn-sim-scaling --workload fib --cpus 64 --sched steal
 *     pirn-sim-scaling --workload wake --cpus 16 --lines 5
 *
 * The work grows with the CPUs, so that a rate which grows as they do is the best. Prints a row of
 * CSV for each seed, and with --lines a row for each of the lines that cost most. `pirn bench
 * figures scaling` makes a page of them; docs/internals/model.md says what is modelled.
 */
#include <inttypes.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "cpu.h"
#include "runtime.h"
#include "sim.h"
#include "sim_timed.h"

enum { TOPOLOGIES_MAX = 8, LINES_MAX = 64, LEAVES = 16 };
#define PS 1000u /* in a nanosecond */

static struct {
    long workload, topology;
    uint64_t cpus, work, rounds, seed, seeds, lines;
    const char *sched;
} given = {.cpus = 8, .rounds = 40, .seed = 1, .seeds = 1, .sched = "steal"};

/* What has been counted so far, over all CPUs. far: accesses that another node served. */
enum sum {
    NS,
    IDLE,
    SWITCHES,
    MIGRATIONS,
    KICKS,
    SLEEPS,
    STEALS,
    ATTEMPTS,
    MEMORY_PS,
    ACCESSES,
    MISSES,
    FAR,
    SUMS
};

/* What a run found. */
static struct {
    uint64_t operations;
    uint64_t sums[SUMS];
    unsigned nlines;
    struct sim_line lines[LINES_MAX];
    char names[LINES_MAX][64];
} found;

static struct sim_timing timing;
static struct sim_config config;
static struct sim_result result;

static void compute(void)
{
    if (given.work != 0) {
        sim_compute(given.work * PS);
    }
}

static void create(pirn_thread_t *thread, void *(*start)(void *), void *arg)
{
    if (pirn_create(thread, NULL, start, arg) != 0) {
        sim_fail("a thread cannot be created");
    }
}

/* ---- workloads: each counts its operations ---- */

/* A thread for each call but the last ones; n is such that each CPU has some. */
struct fib {
    unsigned n, result;
};

static unsigned fib_of(unsigned n);

static void *fib_main(void *arg)
{
    struct fib *f = arg;
    f->result = fib_of(f->n);
    return NULL;
}

static unsigned fib_of(unsigned n)
{
    pirn_thread_t thread;
    compute();
    if (n < 2) {
        return n;
    }
    struct fib other = {.n = n - 1};
    create(&thread, fib_main, &other);
    unsigned y = fib_of(n - 2);
    pirn_join(thread, NULL);
    return other.result + y;
}

static unsigned fib_threads(unsigned n)
{
    return n < 2 ? 0 : 1 + fib_threads(n - 1) + fib_threads(n - 2);
}

static void run_fib(void)
{
    unsigned n = 2;
    while (fib_threads(n) < given.rounds * given.cpus) {
        n++;
    }
    found.operations = fib_threads(n);
    (void)fib_of(n);
}

/* Two parents for each CPU, which create children and join them. */
static void *child_main(void *unused)
{
    (void)unused;
    compute();
    return NULL;
}

static void *parent_main(void *unused)
{
    pirn_thread_t children[LEAVES];
    (void)unused;
    for (uint64_t round = 0; round < given.rounds; round += LEAVES) {
        for (unsigned i = 0; i < LEAVES; i++) {
            create(&children[i], child_main, NULL);
        }
        for (unsigned i = 0; i < LEAVES; i++) {
            pirn_join(children[i], NULL);
        }
    }
    return NULL;
}

/* `each` threads for each CPU, from the program's main thread. */
static void crowd(unsigned each, void *(*start)(void *))
{
    static pirn_thread_t threads[4 * CACHES_CORES];
    unsigned n = each * (unsigned)given.cpus;
    for (unsigned i = 0; i < n; i++) {
        create(&threads[i], start, (void *)(uintptr_t)i);
    }
    for (unsigned i = 0; i < n; i++) {
        pirn_join(threads[i], NULL);
    }
}

static void run_create(void)
{
    crowd(2, parent_main);
    found.operations = 2 * given.cpus * ((given.rounds + LEAVES - 1) / LEAVES) * LEAVES;
}

/* All threads want one mutex: half of the work is done with it, half without. */
static pirn_mutex_t mutex __attribute__((aligned(64)));

static void *mutex_main(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < given.rounds; i++) {
        pirn_mutex_lock(&mutex);
        compute();
        pirn_mutex_unlock(&mutex);
        compute();
    }
    return NULL;
}

static void run_mutex(void)
{
    pirn_mutex_init(&mutex);
    crowd(2, mutex_main);
    found.operations = 2 * given.cpus * given.rounds;
}

/* Threads that work, and wait for all others. */
static pirn_barrier_t barrier __attribute__((aligned(64)));

static void *barrier_main(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < given.rounds; i++) {
        compute();
        pirn_barrier_wait(&barrier);
    }
    return NULL;
}

static void run_barrier(void)
{
    pirn_barrier_init(&barrier, 2 * (unsigned)given.cpus);
    crowd(2, barrier_main);
    found.operations = 2 * given.cpus * given.rounds;
}

/* Pairs of threads that wake each other in turn. */
static struct pair {
    pirn_sem_t ping, pong;
} __attribute__((aligned(128))) pairs[CACHES_CORES];

static void *wake_main(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    struct pair *pair = &pairs[i / 2];
    for (uint64_t round = 0; round < given.rounds; round++) {
        if (i % 2 == 0) {
            compute();
            pirn_sem_post(&pair->ping);
            pirn_sem_wait(&pair->pong);
        } else {
            pirn_sem_wait(&pair->ping);
            compute();
            pirn_sem_post(&pair->pong);
        }
    }
    return NULL;
}

static void run_wake(void)
{
    for (unsigned i = 0; i < given.cpus; i++) {
        pirn_sem_init(&pairs[i].ping, 0);
        pirn_sem_init(&pairs[i].pong, 0);
    }
    crowd(2, wake_main);
    found.operations = 2 * given.cpus * given.rounds;
}

/* Threads that let others run after each piece of work. */
static void *yield_main(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < given.rounds; i++) {
        compute();
        pirn_yield();
    }
    return NULL;
}

static void run_yield(void)
{
    crowd(4, yield_main);
    found.operations = 4 * given.cpus * given.rounds;
}

static const char *const names[] = {"fib", "create", "mutex", "barrier", "wake", "yield", NULL};
static void (*const runs[])(void) = {run_fib,     run_create, run_mutex,
                                     run_barrier, run_wake,   run_yield};

/* ---- what a line is ---- */

static bool is_in(uintptr_t at, const volatile void *object, size_t size)
{
    return at + CACHES_LINE > (uintptr_t)object && at < (uintptr_t)object + size;
}

extern char __executable_start[], _end[];

#define IN(object, what)                                                                           \
    if (is_in(at, &(object), sizeof(object))) {                                                    \
        return (what);                                                                             \
    }

static const char *cpu_line(uintptr_t at, const struct cpu *cpu)
{
    IN(cpu->pending, "pending bits and inbox of a CPU")
    IN(cpu->timers, "timers of a CPU")
    IN(cpu->created, "counters of a CPU's threads")
    return "what a CPU runs";
}

/* NULL: static data that has no name here. */
static const char *line_name(uintptr_t at)
{
    IN(rt.idle_word, "number of idle CPUs and map of sleeping ones")
    IN(rt.idle_map, "map of sleeping CPUs")
    IN(rt, "the runtime's settings")
    IN(mutex, "the mutex")
    IN(barrier, "the barrier")
    IN(pairs, "a semaphore")
    for (unsigned i = 0; i < rt.ncpu; i++) {
        const struct cpu *cpu = rt.cpus[i];
        if (is_in(at, cpu, sizeof(*cpu))) {
            return cpu_line(at, cpu);
        }
        if (cpu->own != NULL && is_in(at, cpu->own, CACHES_LINE)) {
            return "queue of a CPU";
        }
    }
    return at >= (uintptr_t)__executable_start && at < (uintptr_t)_end ? NULL
                                                                       : "a thread's descriptor";
}

/* Lines with one name are one row. */
static void line_add(const struct sim_line *line)
{
    char name[sizeof(found.names[0])];
    const char *known = line_name(line->address);
    snprintf(name, sizeof(name), "%s", known != NULL ? known : "");
    if (known == NULL) {
        snprintf(name, sizeof(name), "static 0x%" PRIxPTR,
                 line->address - (uintptr_t)__executable_start);
    }
    unsigned i = 0;
    while (i < found.nlines && strcmp(found.names[i], name) != 0) {
        i++;
    }
    if (i == LINES_MAX) {
        return; /* the rest is in the sums */
    }
    if (i == found.nlines) {
        found.nlines++;
        memcpy(found.names[i], name, sizeof(name));
    }
    found.lines[i].accesses += line->accesses;
    found.lines[i].misses += line->misses;
    found.lines[i].ps += line->ps;
}

static void sums_now(uint64_t sums[SUMS])
{
    struct pirn_counters c;
    sim_quiet = true;
    memset(sums, 0, SUMS * sizeof(sums[0]));
    pirn_stats(&c);
    sums[NS] = pirn_now();
    sums[IDLE] = c.idle_ns;
    sums[SWITCHES] = c.switches;
    sums[MIGRATIONS] = c.migrations;
    sums[KICKS] = c.kicks;
    sums[SLEEPS] = c.sleeps;
    sums[STEALS] = c.steals;
    sums[ATTEMPTS] = c.steal_attempts;
    for (unsigned i = 0; i < given.cpus; i++) {
        uint64_t since = STAT_GET(&rt.cpus[i]->idle_since); /* and not yet in idle_ns */
        sums[IDLE] += since != 0 ? sums[NS] - since : 0;
        const struct caches_counts *core = caches_core(sim_caches(), i);
        sums[MEMORY_PS] += core->ps;
        for (unsigned write = 0; write < 2; write++) {
            sums[ACCESSES] += caches_accesses(core, write != 0);
            sums[MISSES] += caches_misses(core, write != 0, CACHES_L1);
            sums[FAR] += core->from[write][CACHES_FAR] + core->from[write][CACHES_FAR_MEMORY];
        }
    }
    sim_quiet = false;
}

/* The first time is not measured: there stacks, and ids of threads, are made. */
static void body(void *unused)
{
    uint64_t before[SUMS];
    (void)unused;
    memset(&found, 0, sizeof(found));
    runs[given.workload]();
    sums_now(before);
    sim_lines_forget();
    runs[given.workload]();
    sums_now(found.sums);
    for (unsigned i = 0; i < SUMS; i++) {
        found.sums[i] -= before[i];
    }
    for (const struct sim_line *line = NULL; (line = sim_line_next(line)) != NULL;) {
        line_add(line);
    }
}

/* ---- rows ---- */

static int by_cost(const void *a, const void *b)
{
    uint64_t x = found.lines[*(const unsigned *)a].ps, y = found.lines[*(const unsigned *)b].ps;
    return (x < y) - (x > y);
}

static void print_head(void)
{
    printf(
        "row,workload,topology,cpus,sched,work_ns,seed,operations,ns,idle_ns,switches,migrations,"
        "kicks,sleeps,steals,steal_attempts,memory_ps,accesses,misses,far,name\n");
}

static void print_key(const char *row)
{
    printf("%s,%s,%s,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",", row, names[given.workload],
           timing.topology->name, given.cpus, given.sched, given.work, config.seed);
}

static void print_run(void)
{
    unsigned order[LINES_MAX];
    print_key("run");
    printf("%" PRIu64 ",", found.operations);
    for (unsigned i = 0; i < SUMS; i++) {
        printf("%" PRIu64 ",", found.sums[i]);
    }
    printf("\n");
    for (unsigned i = 0; i < found.nlines; i++) {
        order[i] = i;
    }
    qsort(order, found.nlines, sizeof(order[0]), by_cost);
    for (unsigned i = 0; i < found.nlines && i < given.lines; i++) {
        const struct sim_line *line = &found.lines[order[i]];
        print_key("line");
        printf(",,,,,,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,%s\n", line->ps, line->accesses,
               line->misses, found.names[order[i]]);
    }
}

/* ---- the command line ---- */

static const char *const *topology_names(void)
{
    static const char *known[TOPOLOGIES_MAX];
    for (unsigned i = 0; caches_topologies[i].name != NULL; i++) {
        known[i] = caches_topologies[i].name;
    }
    return known;
}

static void parse(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_choice("workload", &given.workload, names,
                      "fib: a thread for each call; create: threads create threads; mutex: all "
                      "want one; barrier: of all; wake: pairs wake each other; yield"),
        option_choice("topology", &given.topology, topology_names(),
                      "the machine (default: numa256)"),
        option_count("cpus", &given.cpus, 1, CACHES_CORES, "CPUs that run threads"),
        option_text("sched", "SPEC", &given.sched, "the policy, as in PIRN_SCHED (default: steal)"),
        option_count("work", &given.work, 0, 1000000, "nanoseconds of work in each operation"),
        option_count("rounds", &given.rounds, 1, 100000, "operations of each thread, or CPU"),
        option_count("seed", &given.seed, 0, UINT64_MAX / 8, "first seed"),
        option_count("seeds", &given.seeds, 1, 1000000, "how many seeds, a run for each"),
        option_count("lines", &given.lines, 0, LINES_MAX,
                     "also rows for so many cache lines that cost most"),
        {0}};
    options_parse(
        argc, argv,
        &(struct option_page){.summary = "What more CPUs gain, modelled.", .options = options});
}

static void take(void)
{
    timing = sim_timing_linux;
    timing.topology = &caches_topologies[given.topology];
    timing.spin = "200";
    timing.lines = given.lines != 0;
    if (given.cpus > timing.topology->cores) {
        options_refuse("--cpus=%" PRIu64 ": %s has %u", given.cpus, timing.topology->name,
                       timing.topology->cores);
    }
    config = (struct sim_config){
        .ncpu = (unsigned)given.cpus, .sched = given.sched, .preempt = "0", .timed = &timing};
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; caches_topologies[i].name != NULL; i++) {
        given.topology =
            strcmp(caches_topologies[i].name, "numa256") == 0 ? (long)i : given.topology;
    }
    parse(argc, argv);
    take();
    print_head();
    for (uint64_t i = 0; i < given.seeds; i++) {
        config.seed = given.seed + i;
        sim_run(&config, body, NULL, &result);
        if (result.failed) {
            fprintf(stderr, "FAILED: seed %" PRIu64 ", --sched=%s: %s\n", config.seed, given.sched,
                    result.why);
            return 1;
        }
        print_run();
        fflush(stdout);
    }
    return 0;
}
