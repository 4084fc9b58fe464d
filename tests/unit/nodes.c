/* SPDX-License-Identifier: MIT */
/*
 * nodes.c - NUMA nodes: the kernel's files, the order of near and far CPUs, the victims of policy
 * "steal", and the node to which stacks go back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../port/env/linux/linux.h"
#include "../../src/sched/built_in.h"
#include "../../src/sched/steal.h"
#include "nodes.h"
#include "stack_cache.h"

enum { CPUS = 4, LOOKS = 64 };

static struct cpu cpus[CPUS];
static struct pirn_policy table;
static char folder[] = "/tmp/pirn-nodes-XXXXXX";
static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

/* ---- files of the kernel ---- */

static void node_write(unsigned node, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/node%u", folder, node);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/node%u/%s", folder, node, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void node_remove(unsigned node)
{
    char path[128];
    static const char *const names[] = {"/cpulist", "/distance", ""};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/node%u%s", folder, node, names[i]);
        remove(path);
    }
}

static void files(void)
{
    expect(mkdtemp(folder) != NULL, "a folder");
    expect(node_of_processor(folder, 3) == 0, "without files there is one node");
    expect(node_distance(folder, 0, 1) == 20, "and others are twice as far");
    node_write(0, "cpulist", "0-3,8\n");
    node_write(0, "distance", "10 21\n");
    node_write(1, "cpulist", "4-7,9-11\n");
    node_write(1, "distance", "21 10\n");
    node_write(2, "cpulist", "\n");
    expect(node_of_processor(folder, 0) == 0 && node_of_processor(folder, 3) == 0,
           "the first range");
    expect(node_of_processor(folder, 8) == 0, "a single processor behind it");
    expect(node_of_processor(folder, 4) == 1 && node_of_processor(folder, 11) == 1, "another node");
    expect(node_of_processor(folder, 12) == 0, "a processor that no node has");
    expect(node_distance(folder, 0, 0) == 10 && node_distance(folder, 0, 1) == 21, "distances");
    expect(node_distance(folder, 1, 5) == 20, "one that the file does not have");
    node_write(0, "cpulist", "x-3,\n");
    expect(node_of_processor(folder, 2) == 0, "a damaged list");
    for (unsigned i = 0; i < 3; i++) {
        node_remove(i);
    }
    rmdir(folder);
}

/* ---- order ---- */

/* CPUs 0 and 2 are near each other, and so are 1 and 3. */
static void begin(void)
{
    rt.ncpu = CPUS;
    rt.slice_ticks = 1;
    rt.nodes_given = CPUS;
    for (unsigned i = 0; i < CPUS; i++) {
        rt.node[i] = i % 2;
    }
    nodes_begin();
    for (unsigned i = 0; i < CPUS; i++) {
        memset((void *)&cpus[i], 0, sizeof(cpus[i]));
        cpus[i].id = i;
        cpus[i].stack_classes[0] = STACK_CLASSES * nodes_of(i);
        rt.cpus[i] = &cpus[i];
    }
    sched_chosen.discipline = DISCIPLINE_FIFO;
    sched_use(&table, &sched_steal.policy);
    sched_settle(&table, false);
    if (table.init(CPUS) != 0) {
        fprintf(stderr, "init\n");
        exit(1);
    }
    steal.one = true;
}

static void order(void)
{
    begin();
    expect(nodes_differ(), "there are two nodes");
    expect(nodes_near(0, 0) == 2, "the CPU of its own node is the nearest");
    expect(nodes_near(0, 1) == 1 && nodes_near(0, 2) == 3, "then the right neighbour, and so on");
    expect(nodes_near(3, 0) == 1 && nodes_near(3, 1) == 0 && nodes_near(3, 2) == 2, "of the last");
    nodes_end();
    expect(!nodes_differ(), "the end");
    for (unsigned i = 0; i < CPUS; i++) {
        rt.node[i] = 1;
    }
    nodes_begin();
    expect(!nodes_differ(), "all on one node");
}

/* ---- victims ---- */

static struct thread *ready(unsigned cpu)
{
    struct thread *t = aligned_alloc(RT_CACHELINE, (sizeof(*t) + 63) & ~(size_t)63);
    if (t == NULL) {
        perror("thread");
        exit(1);
    }
    memset((void *)t, 0, sizeof(*t));
    if (table.thread_init != NULL && table.thread_init(t, NULL) != 0) {
        fprintf(stderr, "thread_init\n");
        exit(1);
    }
    table.enqueue(&cpus[cpu], t, PIRN_WHY_SPAWN);
    return t;
}

/* The thread that CPU 0 takes when it has searched often enough. */
static struct thread *stolen(void)
{
    struct thread *got = NULL;
    for (unsigned look = 0; look < LOOKS && got == NULL; look++) {
        steal.queues[0].backoff_until = 0;
        got = table.search(&cpus[0]);
    }
    return got;
}

static void victims_of(unsigned rule, const char *what)
{
    begin();
    steal.victim = rule;
    struct thread *far[6], *near[2];
    for (unsigned i = 0; i < 6; i++) {
        far[i] = ready(1);
    }
    for (unsigned i = 0; i < 2; i++) {
        near[i] = ready(2);
    }
    struct thread *first = stolen(), *second = stolen(), *third = stolen();
    expect((first == near[0] || first == near[1]) && (second == near[0] || second == near[1]),
           what);
    expect(third != NULL && third != near[0] && third != near[1], "then a far one");
    for (unsigned i = 0; i < 6; i++) {
        free(far[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        free(near[i]);
    }
    nodes_end();
}

/* ---- stacks ---- */

/* So many pairs of another node go back to it at once: STACK_BATCH in stack.c. */
enum { BATCH = 32 };

static bool is_among(const struct thread *t, struct thread *const *list)
{
    for (unsigned i = 0; i < BATCH; i++) {
        if (list[i] == t) {
            return true;
        }
    }
    return false;
}

static void stacks(void)
{
    struct thread *of_0[BATCH];
    begin();
    rt.stack_size = RT_STACK_DEFAULT;
    rt.reservoir = 256;
    rt.stack_cache_limit = 8;
    for (unsigned i = 0; i < BATCH; i++) {
        of_0[i] = stack_get_slow(&cpus[0], rt.stack_size);
        expect(of_0[i] != NULL, "a stack");
    }
    for (unsigned i = 0; i + 1 < BATCH; i++) {
        stack_put(&cpus[1], of_0[i]);
    }
    expect(cpus[1].stacks[0].count == 0, "a CPU of another node does not keep it");
    expect(stack_cached() == BATCH - 1, "but collects it");
    struct thread *other = stack_get_slow(&cpus[1], rt.stack_size);
    expect(other != NULL && !is_among(other, of_0), "and does not get it");
    struct thread *more = stack_get_slow(&cpus[2], rt.stack_size);
    expect(more != NULL && !is_among(more, of_0), "nobody does before they are many");
    stack_put(&cpus[1], of_0[BATCH - 1]);
    struct thread *t = stack_get_slow(&cpus[2], rt.stack_size);
    expect(is_among(t, of_0), "then a CPU of its own node does");
    expect(stack_cached() == BATCH - 1, "and nothing is lost");
    stack_free_cached(&cpus[2]);
    stack_put(&cpus[0], t);
    expect(cpus[0].stacks[0].first == t, "which keeps it");
    stack_put(&cpus[3], other);
    stack_put(&cpus[0], more);
    stack_put(&cpus[1], stack_get_slow(&cpus[0], rt.stack_size)); /* collected, not sent */
    stack_drain_all();
    expect(stack_cached() == 0, "all go back to the port in the end");
    nodes_end();
}

int main(void)
{
    files();
    order();
    victims_of(VICTIM_NEIGHBOUR, "victim=neighbour: a near one, though the right neighbour is far");
    victims_of(VICTIM_MAX, "victim=max: a near one, though a far one has more");
    victims_of(VICTIM_RANDOM, "victim=random: a near one");
    stacks();
    printf("nodes: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
