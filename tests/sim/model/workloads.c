/* SPDX-License-Identifier: MIT */
/*
 * workloads.c - the graphs of the model's workloads.
 *
 * wavemix: the benchmark of the thesis on task affinity (docs/STATUS.md), four waves and three
 * mixers; the CPUs of its Table 3.2.
 * pairs: producers and consumers, each with one partner.
 * pipelines: STAGES tasks behind each other, each reading the buffer of the one before it.
 */
#include "graph.h"

#include <stdio.h>

enum { STAGES = 5 };

const char *const workload_names[] = {"wavemix", "pairs", "pipelines", NULL};

static const struct graph_spec wavemix = {.ntasks = 7,
                                          .tasks = {{"wave0", {NO_TASK, NO_TASK}, 0},
                                                    {"wave1", {NO_TASK, NO_TASK}, 1},
                                                    {"wave2", {NO_TASK, NO_TASK}, 2},
                                                    {"wave3", {NO_TASK, NO_TASK}, 3},
                                                    {"mixer0", {0, 1}, 0},
                                                    {"mixer1", {2, 3}, 2},
                                                    {"mixer2", {4, 5}, 2}}};

static const struct graph_spec *make_pairs(unsigned pairs)
{
    static struct graph_spec graph;
    graph.ntasks = 2 * pairs;
    for (unsigned i = 0; i < pairs; i++) {
        struct task_spec *producer = &graph.tasks[i], *consumer = &graph.tasks[pairs + i];
        *producer = (struct task_spec){.inputs = {NO_TASK, NO_TASK}, .cpu = i};
        *consumer = (struct task_spec){.inputs = {(int)i, NO_TASK}, .cpu = i};
        snprintf(producer->name, sizeof(producer->name), "producer%u", i % 1000);
        snprintf(consumer->name, sizeof(consumer->name), "consumer%u", i % 1000);
    }
    return &graph;
}

/* First all first stages, so that inputs come before their consumers. */
static const struct graph_spec *make_pipelines(unsigned pipelines)
{
    static struct graph_spec graph;
    graph.ntasks = STAGES * pipelines;
    for (unsigned i = 0; i < graph.ntasks; i++) {
        struct task_spec *task = &graph.tasks[i];
        unsigned pipeline = i % pipelines, stage = i / pipelines;
        int input = stage == 0 ? NO_TASK : (int)(i - pipelines);
        *task = (struct task_spec){.inputs = {input, NO_TASK}, .cpu = pipeline};
        snprintf(task->name, sizeof(task->name), "stage%u.%u", stage % STAGES, pipeline % 1000);
    }
    return &graph;
}

const struct graph_spec *workload_find(unsigned index, unsigned pairs)
{
    return index == 0 ? &wavemix : index == 1 ? make_pairs(pairs) : make_pipelines(pairs);
}

unsigned workload_most(unsigned index)
{
    return index == 1 ? GRAPH_TASKS / 2 : GRAPH_TASKS / STAGES;
}
