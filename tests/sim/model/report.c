/* SPDX-License-Identifier: MIT */
/*
 * report.c - the rows of pirn-sim-model (report.h), as text, CSV or JSON.
 *
 * The row of a task has its time to work on a sample, without waiting. That of "all" has the time
 * from one sample to the next, over all sinks, and the sums of the tasks. That of a sample has the
 * same of this one.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const report_formats[] = {"text", "csv", "json", NULL};

struct row {
    const char *name;
    struct moments time;
    struct sim_usage used;
    const struct counters *counters; /* NULL: of a thread or a CPU */
    bool alone;                      /* of one sample */
};

/* ---- values ---- */

static uint64_t both(const struct caches_counts *c, enum caches_source source)
{
    return c->from[0][source] + c->from[1][source];
}

#define MISSES(name, kind, write, level)                                                           \
    static uint64_t name(const struct row *row)                                                    \
    {                                                                                              \
        return caches_misses(&row->used.kind, (write), (level));                                   \
    }
MISSES(l1_read_misses, program, false, CACHES_L1)
MISSES(l1_write_misses, program, true, CACHES_L1)
MISSES(l2_read_misses, program, false, CACHES_L2)
MISSES(l2_write_misses, program, true, CACHES_L2)
MISSES(llc_read_misses, program, false, CACHES_LLC)
MISSES(llc_write_misses, program, true, CACHES_LLC)

#define VALUE(name, value)                                                                         \
    static uint64_t name(const struct row *row)                                                    \
    {                                                                                              \
        return (value);                                                                            \
    }
VALUE(run_ns, row->used.run_ns)
VALUE(switches, row->used.switches)
VALUE(migrations, row->used.migrations)
VALUE(reads, caches_accesses(&row->used.program, false))
VALUE(writes, caches_accesses(&row->used.program, true))
VALUE(from_core, both(&row->used.program, CACHES_CORE))
VALUE(from_far, both(&row->used.program, CACHES_FAR))
VALUE(from_memory, both(&row->used.program, CACHES_MEMORY))
VALUE(from_far_memory, both(&row->used.program, CACHES_FAR_MEMORY))
VALUE(upgrades, row->used.program.upgrades)
VALUE(invalidated, row->used.program.invalidated)
VALUE(snoops, row->used.program.snoops)
VALUE(prefetched, row->used.program.prefetched)
VALUE(memory_ns, row->used.program.ps / 1000)
VALUE(runtime_accesses,
      caches_accesses(&row->used.runtime, false) + caches_accesses(&row->used.runtime, true))
VALUE(runtime_misses, caches_misses(&row->used.runtime, false, CACHES_L1) +
                          caches_misses(&row->used.runtime, true, CACHES_L1))
VALUE(runtime_memory_ns, row->used.runtime.ps / 1000)

/* Sums over the samples that were measured. */
#define COLUMN(name)                                                                               \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct column {
    const char *name;
    uint64_t (*value)(const struct row *row);
} columns[] = {COLUMN(run_ns),          COLUMN(switches),         COLUMN(migrations),
               COLUMN(reads),           COLUMN(writes),           COLUMN(l1_read_misses),
               COLUMN(l1_write_misses), COLUMN(l2_read_misses),   COLUMN(l2_write_misses),
               COLUMN(llc_read_misses), COLUMN(llc_write_misses), COLUMN(from_core),
               COLUMN(from_far),        COLUMN(from_memory),      COLUMN(from_far_memory),
               COLUMN(upgrades),        COLUMN(invalidated),      COLUMN(snoops),
               COLUMN(prefetched),      COLUMN(memory_ns),        COLUMN(runtime_accesses),
               COLUMN(runtime_misses),  COLUMN(runtime_memory_ns)};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static double a2s(const struct moments *m)
{
    return moments_mean(m) + 2 * moments_sigma(m);
}

/* ---- the three formats ---- */

/* The rows then have values by sample. */
static void text_begin(const struct report *r)
{
    const struct plan *p = r->plan;
    printf("%s on %s, %u CPUs, %s, buffers of %zu KB, %" PRIu64 " samples\n", r->workload,
           p->timing->topology->name, p->serial ? 1 : p->cpus,
           p->serial            ? "serial"
           : p->pin != PIN_NONE ? r->pin
                                : p->sched,
           p->buffer >> 10, p->samples);
}

struct pair {
    char text[24];
};

/* Reads and writes by sample. */
static struct pair pair_of(double n, uint64_t reads_, uint64_t writes_)
{
    struct pair pair;
    snprintf(pair.text, sizeof(pair.text), "%.1f/%.1f", (double)reads_ / n, (double)writes_ / n);
    return pair;
}

static void text_row(const struct report *r, const struct row *row)
{
    double n = row->alone ? 1 : (double)r->plan->samples;
    bool l2 = r->plan->timing->topology->l2.bytes != 0;
    if (!r->more) {
        printf("%-12s%8s%8s%8s%7s%15s%15s%15s%8s%8s%8s\n", "times in us", "mean", "sigma", "A2S",
               "moves", "L1 misses r/w", l2 ? "L2" : "", "LLC", "cores", "far", "memory");
    }
    printf("%-12s%8.2f%8.2f%8.2f%7.2f%15s%15s%15s%8.1f%8.1f%8.1f\n", row->name,
           moments_mean(&row->time) / 1000, moments_sigma(&row->time) / 1000,
           a2s(&row->time) / 1000, (double)migrations(row) / n,
           pair_of(n, l1_read_misses(row), l1_write_misses(row)).text,
           l2 ? pair_of(n, l2_read_misses(row), l2_write_misses(row)).text : "",
           pair_of(n, llc_read_misses(row), llc_write_misses(row)).text, (double)from_core(row) / n,
           (double)from_far(row) / n, (double)(from_memory(row) + from_far_memory(row)) / n);
    for (unsigned i = 0; row->counters != NULL && i < row->counters->n; i++) {
        const struct counter *c = &row->counters->counter[i];
        printf("  %-20s%12.2f\n", c->name, (double)c->value / n);
    }
}

/* The names of the counters are known when a run has ended. */
static void csv_begin(const struct report *r, const struct counters *counters)
{
    printf("workload,topology,cpus,sched,pin,serial,prefetch,buffer,samples,seed,thread,mean_ns,"
           "sigma_ns,a2s_ns");
    for (unsigned i = 0; i < COLUMNS; i++) {
        printf(",%s", columns[i].name);
    }
    for (unsigned i = 0; r->counters && i < counters->n; i++) {
        printf(",%s", counters->counter[i].name);
    }
    printf("\n");
}

static void csv_counters(const struct report *r, const struct row *row)
{
    for (unsigned i = 0; r->counters && i < r->ncounters; i++) {
        printf(",");
        if (row->counters != NULL) {
            printf("%" PRIu64, row->counters->counter[i].value);
        }
    }
}

static void csv_row(const struct report *r, const struct row *row)
{
    const struct plan *p = r->plan;
    printf("%s,%s,%u,\"%s\",%s,%d,%d,%zu,%" PRIu64 ",%" PRIu64 ",%s,%.1f,%.1f,%.1f", r->workload,
           p->timing->topology->name, p->serial ? 1 : p->cpus, p->sched, r->pin, p->serial,
           p->timing->prefetch, p->buffer, p->samples, p->seed, row->name, moments_mean(&row->time),
           moments_sigma(&row->time), a2s(&row->time));
    for (unsigned i = 0; i < COLUMNS; i++) {
        printf(",%" PRIu64, columns[i].value(row));
    }
    csv_counters(r, row);
    printf("\n");
}

static void json_row(const struct report *r, const struct row *row)
{
    const struct plan *p = r->plan;
    printf("%s\n  {\"workload\": \"%s\", \"topology\": \"%s\", \"cpus\": %u, \"sched\": \"%s\", "
           "\"pin\": \"%s\", \"serial\": %s, \"prefetch\": %s, \"buffer\": %zu, \"samples\": "
           "%" PRIu64 ", \"seed\": %" PRIu64 ", \"thread\": \"%s\", \"mean_ns\": %.1f, "
           "\"sigma_ns\": %.1f, \"a2s_ns\": %.1f",
           r->more ? "," : "", r->workload, p->timing->topology->name, p->serial ? 1 : p->cpus,
           p->sched, r->pin, p->serial ? "true" : "false", p->timing->prefetch ? "true" : "false",
           p->buffer, p->samples, p->seed, row->name, moments_mean(&row->time),
           moments_sigma(&row->time), a2s(&row->time));
    for (unsigned i = 0; i < COLUMNS; i++) {
        printf(", \"%s\": %" PRIu64, columns[i].name, columns[i].value(row));
    }
    for (unsigned i = 0; row->counters != NULL && i < row->counters->n; i++) {
        const struct counter *c = &row->counters->counter[i];
        printf(", \"%s\": %" PRIu64, c->name, c->value);
    }
    printf("}");
}

static void print_row(struct report *r, const struct row *row)
{
    if (r->format == REPORT_TEXT) {
        text_row(r, row);
    } else if (r->format == REPORT_CSV) {
        csv_row(r, row);
    } else {
        json_row(r, row);
    }
    r->more = true;
}

/* ---- a run ---- */

void report_begin(struct report *r)
{
    if (r->format == REPORT_TEXT) {
        text_begin(r);
    } else if (r->format == REPORT_JSON) {
        printf("[");
    }
}

static void moments_join(struct moments *to, const struct moments *from)
{
    to->n += from->n;
    to->sum += from->sum;
    to->squares += from->squares;
}

static void print_cpus(struct report *r, const struct graph_result *result)
{
    for (unsigned i = 0; i < r->plan->cpus; i++) {
        char name[16];
        snprintf(name, sizeof(name), "cpu%u", i);
        struct row row = {.name = name, .used = {.program = result->cpus[i]}};
        print_row(r, &row);
    }
}

static void print_samples(struct report *r)
{
    for (size_t i = 0; i < samples_number(); i++) {
        char name[32];
        struct sample sample;
        snprintf(name, sizeof(name), "sample%zu", i);
        samples_get(i, &sample);
        struct row row = {.name = name,
                          .time = {1, sample.ns, sample.ns * sample.ns},
                          .used = sample.used,
                          .counters = r->counters ? &sample.counters : NULL,
                          .alone = true};
        print_row(r, &row);
    }
}

void report_run(struct report *r, const struct graph_result *result)
{
    const struct graph_spec *graph = r->plan->graph;
    struct row all = {.name = "all", .counters = r->counters ? &result->counters : NULL};
    if (r->format == REPORT_CSV && !r->more) {
        csv_begin(r, &result->counters);
    }
    r->ncounters = result->counters.n;
    for (unsigned i = 0; i < graph->ntasks; i++) {
        const struct task_result *task = &result->tasks[i];
        struct row row = {.name = graph->tasks[i].name, .time = task->work, .used = task->used};
        usage_join(&all.used, &task->used);
        if (task->sink) {
            moments_join(&all.time, &task->interval);
        }
        print_row(r, &row);
    }
    if (r->by_cpu) {
        print_cpus(r, result);
    }
    if (r->plan->each) {
        print_samples(r);
    }
    print_row(r, &all);
}

void report_end(struct report *r)
{
    if (r->format == REPORT_JSON) {
        printf("\n]\n");
    }
}
