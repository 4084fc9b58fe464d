/* SPDX-License-Identifier: MIT */
/*
 * main.c - pirn-sim-model: a workload on a machine under a policy, in simulated time.
 *
 *     pirn-sim-model --topology xeon --sched steal --buffer 64
 *     pirn-sim-model --workload pairs --pairs 64 --topology numa64 --format csv
 *
 * docs/internals/model.md says what is modelled, and what the columns mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "graph.h"
#include "report.h"
#include "sim.h"

enum { TOPOLOGIES_MAX = 8, PAIRS_MAX = GRAPH_TASKS / 2, CPUS_MAX = CACHES_CORES };

static struct {
    long workload, topology, format, pin;
    uint64_t cpus, buffer, pairs, seeds, work;
    bool prefetch, preempt, by_number, by_cpu, counters, one_node, sched;
    uint64_t spin;
} given = {.buffer = 4, .pairs = 8, .seeds = 1, .work = 100, .spin = 200};

static struct plan plan = {.sched = "steal", .samples = 200, .warmup = 20, .seed = 1};
static struct sim_timing timing;

static const char *const pins[] = {"none", "waves", "all", NULL};

static const char *const *topology_names(void)
{
    static const char *names[TOPOLOGIES_MAX];
    for (unsigned i = 0; caches_topologies[i].name != NULL; i++) {
        names[i] = caches_topologies[i].name;
    }
    return names;
}

static void parse(int argc, char **argv)
{
    struct option_spec sched =
        option_text("sched", "SPEC", &plan.sched, "the policy, as in PIRN_SCHED (default: steal)");
    sched.flag = &given.sched;
    const struct option_spec options[] = {
        option_choice("workload", &given.workload, workload_names,
                      "wavemix: four waves, three mixers; pairs: producers and consumers; "
                      "pipelines: of five stages"),
        option_count("pairs", &given.pairs, 1, PAIRS_MAX, "how many pairs or pipelines"),
        option_choice("topology", &given.topology, topology_names(), "the machine"),
        option_count("cpus", &given.cpus, 0, CPUS_MAX, "CPUs that run threads; 0: all"),
        sched,
        option_choice(
            "pin", &given.pin, pins,
            "instead of --sched: pin the sources (waves, producers), or all tasks, to CPUs"),
        option_flag("affinity", &plan.declare,
                    "consumers declare their producers: for policies with task affinity"),
        option_flag("serial", &plan.serial, "one thread runs all tasks, in order, on one CPU"),
        option_count("buffer", &given.buffer, 4, 1024, "KB of each task's buffer, a multiple of 4"),
        option_count("samples", &plan.samples, 1, 1000000, "samples that are measured"),
        option_count("warmup", &plan.warmup, 1, 1000000, "samples before them"),
        option_count("seed", &plan.seed, 0, UINT64_MAX / 8, "first seed"),
        option_count("seeds", &given.seeds, 1, 1000000, "how many seeds, a run for each"),
        option_count("work", &given.work, 0, 10000,
                     "percent of the machine's times to compute a number"),
        option_flag("prefetch", &given.prefetch, "the caches have a prefetcher"),
        option_flag("preempt", &given.preempt, "threads are preempted (PIRN_PREEMPT=1)"),
        option_count("spin", &given.spin, 0, 1000000,
                     "PIRN_SPIN: microseconds that an idle CPU searches"),
        option_flag("one-node", &given.one_node,
                    "the runtime takes all CPUs for near ones (PIRN_NODES=off)"),
        option_flag("by-number", &given.by_number,
                    "of CPUs with equal clocks the first goes on, not one by the seed"),
        option_flag("by-cpu", &given.by_cpu, "rows for the CPUs, the runtime's accesses included"),
        option_flag("counters", &given.counters, "also counters of the runtime and of the policy"),
        option_flag("each-sample", &plan.each, "a row for each sample that is measured: wavemix"),
        option_text("trace", "FILE", &plan.trace, "write the event trace of one run"),
        option_choice("format", &given.format, report_formats, "text, csv or json"),
        {0}};
    options_parse(argc, argv,
                  &(struct option_page){.summary = "Time and cache misses of a workload, modelled.",
                                        .options = options});
}

static void nothing(void *unused)
{
    (void)unused;
}

/* The runtime itself says what is wrong with a policy. */
static void check_sched(void)
{
    struct sim_config config = {.seed = 1, .ncpu = 1, .sched = plan.sched};
    static struct sim_result result;
    sim_run(&config, nothing, NULL, &result);
    if (result.failed) {
        options_refuse("--sched=%s: %.*s", plan.sched, (int)strcspn(result.why, "\n"), result.why);
    }
}

/* What the table of options cannot say. */
static void refuse(void)
{
    const struct caches_topology *topology = timing.topology;
    const char *pin = pins[given.pin];
    if (given.buffer % 4 != 0) {
        options_refuse("--buffer=%llu: a multiple of 4 is needed, whole pages",
                       (unsigned long long)given.buffer);
    }
    if (given.workload != 0 && given.pairs > workload_most((unsigned)given.workload)) {
        options_refuse("--pairs=%llu: there is room for %u %s", (unsigned long long)given.pairs,
                       workload_most((unsigned)given.workload), workload_names[given.workload]);
    }
    if (plan.cpus > topology->cores) {
        options_refuse("--cpus=%u: %s has %u", plan.cpus, topology->name, topology->cores);
    }
    if (plan.pin != PIN_NONE && given.sched) {
        options_refuse("--pin=%s: is a policy itself; not together with --sched", pin);
    }
    if (plan.pin != PIN_NONE && plan.serial) {
        options_refuse("--pin=%s: there is one thread; not together with --serial", pin);
    }
    if (plan.each && (given.workload != 0 || plan.serial)) {
        options_refuse("--each-sample: with workload wavemix, whose samples end one by one, and "
                       "not with --serial");
    }
    if (plan.trace != NULL && given.seeds != 1) {
        options_refuse("--trace=%s: one run is traced; not together with --seeds", plan.trace);
    }
}

static void take(void)
{
    static char spin[24];
    const struct caches_topology *topology = &caches_topologies[given.topology];
    snprintf(spin, sizeof(spin), "%llu", (unsigned long long)given.spin);
    timing = sim_timing_linux;
    timing.topology = topology;
    timing.prefetch = given.prefetch;
    timing.by_number = given.by_number;
    timing.spin = spin;
    timing.nodes = given.one_node ? "off" : NULL;
    plan.timing = &timing;
    plan.graph = workload_find((unsigned)given.workload, (unsigned)given.pairs);
    plan.cpus = given.cpus != 0 ? (unsigned)given.cpus : topology->cores;
    plan.buffer = (size_t)given.buffer << 10;
    plan.work = (unsigned)given.work;
    plan.pin = (enum pin)given.pin;
    plan.preempt = given.preempt ? "1" : "0";
}

int main(int argc, char **argv)
{
    static struct graph_result result;
    pinned_register();
    parse(argc, argv);
    take();
    refuse();
    plan.sched = plan.pin != PIN_NONE ? "pinned" : plan.sched;
    check_sched();
    struct report report = {.plan = &plan,
                            .workload = workload_names[given.workload],
                            .pin = pins[given.pin],
                            .by_cpu = given.by_cpu,
                            .counters = given.counters,
                            .format = (enum report_format)given.format};
    report_begin(&report);
    for (uint64_t i = 0; i < given.seeds; i++, plan.seed++) {
        const char *why = graph_run(&plan, &result);
        if (why != NULL) {
            fprintf(stderr, "FAILED: seed %llu: %s\n", (unsigned long long)plan.seed, why);
            return 1;
        }
        report_run(&report, &result);
    }
    report_end(&report);
    return 0;
}
