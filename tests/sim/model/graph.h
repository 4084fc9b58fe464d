/* SPDX-License-Identifier: MIT */
/*
 * graph.h - workloads of the model: tasks that read the buffers of others and fill one of their
 * own. Each is a thread. An edge holds one buffer: a producer fills it again when its consumer has
 * read it. A sample is done when a task without consumers (a sink) has filled its buffer.
 */
#ifndef PIRN_TESTS_MODEL_GRAPH_H
#define PIRN_TESTS_MODEL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim_timed.h"

enum { GRAPH_TASKS = 256, GRAPH_INPUTS = 2, NO_TASK = -1 };

/* Inputs come before their consumers. cpu: where the task runs if all are pinned. */
struct task_spec {
    char name[16];
    int inputs[GRAPH_INPUTS]; /* numbers of tasks, or NO_TASK */
    unsigned cpu;
};

struct graph_spec {
    unsigned ntasks;
    struct task_spec tasks[GRAPH_TASKS];
};

/* workloads.c. pairs: how many pairs or pipelines, up to workload_most, where the workload asks for
 * it. */
extern const char *const workload_names[]; /* ends with NULL */
const struct graph_spec *workload_find(unsigned index, unsigned pairs);
unsigned workload_most(unsigned index);

enum pin { PIN_NONE, PIN_SOURCES, PIN_ALL };

struct plan {
    const struct graph_spec *graph;
    const struct sim_timing *timing; /* with a topology */
    unsigned cpus;
    const char *sched, *preempt, *trace;
    enum pin pin;
    bool declare; /* consumers say on whom they depend: task affinity */
    bool serial;  /* one thread runs all tasks, one after another */
    bool each;    /* keep each sample: of graphs with one sink */
    size_t buffer;
    uint64_t samples, warmup, seed; /* warmup: samples before those that are measured */
    unsigned work;                  /* percent of the topology's times to compute */
};

struct moments {
    double n, sum, squares;
};
double moments_mean(const struct moments *m);
double moments_sigma(const struct moments *m);

struct task_result {
    struct moments work;     /* from input to output, ns */
    struct moments interval; /* from one output to the next */
    struct sim_usage used;
    bool sink;
};

/* Counters by name. */
enum { COUNTERS_MAX = 24 };
struct counters {
    unsigned n;
    struct counter {
        const char *name;
        uint64_t value;
    } counter[COUNTERS_MAX];
};

/* By task; by CPU, all accesses there, the runtime's included; and counters, over all CPUs. The
 * latter two since the first sink has begun to measure. */
struct graph_result {
    struct task_result tasks[GRAPH_TASKS];
    struct caches_counts cpus[CACHES_CORES];
    struct counters counters;
};

/* Run it. NULL, or why it failed. */
const char *graph_run(const struct plan *plan, struct graph_result *result);

/* counters.c: the runtime's and the policy's, and their difference from an earlier state. */
void counters_read(struct counters *c);
void counters_take(struct counters *c, const struct counters *before);

void usage_join(struct sim_usage *to, const struct sim_usage *from); /* sums */
void usage_take(struct sim_usage *used, const struct sim_usage *before);

/* samples.c: each sample of the last run (plan.each): its time, and what was used and counted from
 * the end of the sample before to its end. Of a task counts what it had used by its last output. */
struct sample {
    double ns;
    struct sim_usage used;
    struct counters counters;
};
size_t samples_number(void);
void samples_get(size_t i, struct sample *sample);

/* For graph.c: a run begins; a sample ends that is measured, or the last one that is not: its time,
 * and what has been used and counted so far. */
void samples_begin(void);
void samples_note(const struct sample *until);

/* pinned.c: policy "pinned". The next thread that is created is to run on this CPU; NOT_PINNED: on
 * any. */
enum { NOT_PINNED = -1 };
void pinned_register(void);
void pinned_next(int cpu);

#endif
