/* SPDX-License-Identifier: MIT */
/*
 * graph.c - runs a graph of tasks in the simulator, and measures it (graph.h).
 *
 * Threads: the main thread creates one for each task and joins them. A task's results are its own
 * until it has been joined.
 */
#include "graph.h"

#include <math.h>
#include <pirn/pirn.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* From a producer to a consumer. full: buffers to read; room: buffers to fill. */
struct edge {
    pirn_sem_t full, room;
};

struct task {
    const struct task_spec *spec;
    struct task *inputs[GRAPH_INPUTS];
    struct edge in[GRAPH_INPUTS]; /* from inputs[i] */
    struct edge *out;             /* to the consumer; NULL: a sink */
    unsigned ninputs;
    char *buffer;
    uint64_t ended;        /* when the last output was done */
    struct sim_usage used; /* until then */
    struct task_result *result;
    pirn_thread_t thread;
} __attribute__((aligned(64)));

static struct {
    const struct plan *plan;
    struct graph_result *result;
    bool counts; /* of CPUs: begun */
    struct task tasks[GRAPH_TASKS];
    pirn_barrier_t start;
} run;

/* ---- numbers ---- */

static void moments_add(struct moments *m, double x)
{
    m->n += 1;
    m->sum += x;
    m->squares += x * x;
}

double moments_mean(const struct moments *m)
{
    return m->n != 0 ? m->sum / m->n : 0;
}

double moments_sigma(const struct moments *m)
{
    double mean = moments_mean(m), variance = m->n != 0 ? m->squares / m->n - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

void usage_take(struct sim_usage *used, const struct sim_usage *before)
{
    used->run_ns -= before->run_ns;
    used->switches -= before->switches;
    used->migrations -= before->migrations;
    caches_counts_take(&used->program, &before->program);
    caches_counts_take(&used->runtime, &before->runtime);
}

void usage_join(struct sim_usage *to, const struct sim_usage *from)
{
    to->run_ns += from->run_ns;
    to->switches += from->switches;
    to->migrations += from->migrations;
    caches_counts_add(&to->program, &from->program);
    caches_counts_add(&to->runtime, &from->runtime);
}

/* In place of each CPU's counts, and of the counters, those since the last call. */
static void cpus_count(void)
{
    struct counters counters;
    for (unsigned i = 0; i < run.plan->cpus; i++) {
        struct caches_counts now = *caches_core(sim_caches(), i);
        caches_counts_take(&now, &run.result->cpus[i]);
        run.result->cpus[i] = now;
    }
    counters_read(&counters);
    counters_take(&counters, &run.result->counters);
    run.result->counters = counters;
}

/* Here the measured samples of a task begin. */
static void measure_begins(const struct task *t, struct sim_usage *before)
{
    sim_usage(before);
    if (t->out == NULL && !run.counts) {
        run.counts = true;
        cpus_count();
    }
}

/* ---- a task's work ---- */

/* Line by line: read the inputs, compute the numbers of two bytes, write the output. */
static void task_works(struct task *t)
{
    const struct caches_topology *topology = run.plan->timing->topology;
    uint64_t number = t->ninputs != 0 ? topology->mix_ps : topology->wave_ps;
    uint64_t ps = number * (CACHES_LINE / 2) * run.plan->work / 100;
    for (size_t at = 0; at < run.plan->buffer; at += CACHES_LINE) {
        for (unsigned i = 0; i < t->ninputs; i++) {
            sim_touch(t->inputs[i]->buffer + at, CACHES_LINE, false);
        }
        sim_compute(ps);
        sim_touch(t->buffer + at, CACHES_LINE, true);
    }
}

/* A sample has ended: what all have done until now. It takes no time of the model. */
static void sample_note(double ns)
{
    struct sample until = {.ns = ns};
    for (unsigned i = 0; i < run.plan->graph->ntasks; i++) {
        usage_join(&until.used, &run.tasks[i].used);
    }
    sim_quiet = true;
    counters_read(&until.counters);
    sim_quiet = false;
    samples_note(&until);
}

/* Works, and notes the times, of a sample that is measured. */
static void task_fills(struct task *t, uint64_t sample)
{
    uint64_t from = pirn_now();
    task_works(t);
    uint64_t end = pirn_now();
    if (sample >= run.plan->warmup) {
        moments_add(&t->result->work, (double)(end - from));
        moments_add(&t->result->interval, (double)(end - t->ended));
    }
    if (run.plan->each) {
        sim_usage(&t->used);
        if (t->out == NULL && sample + 1 >= run.plan->warmup) {
            sample_note((double)(end - t->ended));
        }
    }
    t->ended = end;
}

/* ---- threads ---- */

/* Here a consumer says on whom it depends; the producer's thread exists. */
static void input_connect(struct task *consumer, unsigned i)
{
    struct edge *edge = &consumer->in[i];
    pirn_sem_init(&edge->full, 0);
    pirn_sem_init(&edge->room, 1);
    consumer->inputs[i]->out = edge;
    if (run.plan->declare && pirn_affinity_add(consumer->inputs[i]->thread) != 0) {
        sim_fail("a dependency of %s cannot be declared", consumer->spec->name);
    }
}

static void *task_main(void *arg)
{
    struct task *t = arg;
    const struct plan *plan = run.plan;
    struct sim_usage before = {0};
    pirn_barrier_wait(&run.start);
    for (unsigned i = 0; i < t->ninputs; i++) {
        input_connect(t, i);
    }
    pirn_barrier_wait(&run.start);
    for (uint64_t sample = 0; sample < plan->warmup + plan->samples; sample++) {
        if (sample == plan->warmup) {
            measure_begins(t, &before);
        }
        for (unsigned i = 0; i < t->ninputs; i++) {
            pirn_sem_wait(&t->in[i].full);
        }
        if (t->out != NULL) {
            pirn_sem_wait(&t->out->room);
        }
        task_fills(t, sample);
        if (t->out != NULL) {
            pirn_sem_post(&t->out->full);
        }
        for (unsigned i = 0; i < t->ninputs; i++) {
            pirn_sem_post(&t->in[i].room);
        }
    }
    sim_usage(&t->result->used);
    usage_take(&t->result->used, &before);
    t->result->sink = t->out == NULL;
    return NULL;
}

static int pin_of(const struct task *t)
{
    bool pinned = run.plan->pin == PIN_ALL || (run.plan->pin == PIN_SOURCES && t->ninputs == 0);
    return pinned ? (int)(t->spec->cpu % run.plan->cpus) : NOT_PINNED;
}

static void run_threads(void *unused)
{
    unsigned ntasks = run.plan->graph->ntasks;
    (void)unused;
    pirn_barrier_init(&run.start, ntasks);
    for (unsigned i = 0; i < ntasks; i++) {
        struct task *t = &run.tasks[i];
        pirn_attr_t attr = {.name = t->spec->name};
        pinned_next(pin_of(t));
        if (pirn_create(&t->thread, &attr, task_main, t) != 0) {
            sim_fail("thread %u cannot be made", i);
        }
    }
    for (unsigned i = 0; i < ntasks; i++) {
        pirn_join(run.tasks[i].thread, NULL);
    }
    cpus_count();
}

/* The tasks are in an order in which each finds its inputs. The last one ends a sample; what is
 * used is the sum of all. */
static void run_serial(void *unused)
{
    const struct plan *plan = run.plan;
    struct sim_usage before = {0};
    struct task *last = &run.tasks[plan->graph->ntasks - 1];
    (void)unused;
    for (uint64_t sample = 0; sample < plan->warmup + plan->samples; sample++) {
        if (sample == plan->warmup) {
            measure_begins(last, &before);
        }
        for (struct task *t = run.tasks; t <= last; t++) {
            task_fills(t, sample);
        }
    }
    sim_usage(&last->result->used);
    usage_take(&last->result->used, &before);
    last->result->sink = true;
    cpus_count();
}

/* ---- a run ---- */

static void tasks_make(struct graph_result *result)
{
    const struct graph_spec *graph = run.plan->graph;
    memset(result, 0, sizeof(*result));
    memset(run.tasks, 0, sizeof(run.tasks));
    for (unsigned i = 0; i < graph->ntasks; i++) {
        struct task *t = &run.tasks[i];
        t->spec = &graph->tasks[i];
        t->result = &result->tasks[i];
        t->buffer = aligned_alloc(4096, run.plan->buffer);
        if (t->buffer == NULL) {
            abort();
        }
        while (t->ninputs < GRAPH_INPUTS && t->spec->inputs[t->ninputs] != NO_TASK) {
            t->inputs[t->ninputs] = &run.tasks[t->spec->inputs[t->ninputs]];
            t->ninputs++;
        }
    }
}

const char *graph_run(const struct plan *plan, struct graph_result *result)
{
    static struct sim_result ended;
    struct sim_config config = {.seed = plan->seed,
                                .ncpu = plan->serial ? 1 : plan->cpus,
                                .sched = plan->sched,
                                .preempt = plan->preempt,
                                .trace = plan->trace,
                                .timed = plan->timing};
    run.plan = plan;
    run.result = result;
    run.counts = false;
    tasks_make(result);
    samples_begin();
    sim_run(&config, plan->serial ? run_serial : run_threads, NULL, &ended);
    for (unsigned i = 0; i < plan->graph->ntasks; i++) {
        free(run.tasks[i].buffer);
    }
    return ended.failed ? ended.why : NULL;
}
