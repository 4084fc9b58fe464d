/* SPDX-License-Identifier: MIT */
/*
 * nodes: what Pirn does with NUMA nodes, seen by a program. Its threads say on which processor they
 * run, the kernel says on which node a page lies (move_pages), and /sys which processor belongs to
 * which node.
 *
 *   trees  Four threads start ever new ones, which other CPUs take away: how many ran on another
 *          processor than they were made on, on the same node (near) and on another one (far); how
 *          many ran with a stack of the node that made them (home).
 *   pairs  A producer wakes a consumer, which runs next on its processor, wakes a second consumer
 *          of the same producer, and works on. So the second one finds its producer's processor
 *          taken: how often that was so (woken), and how many ran on the node's other one (with).
 *
 * Closing line: `nodes: made=N near=N far=N home=N woken=N with=N`. Numbers are counts.
 *
 * Threads write their own record only; pthread_join and semaphores are between writers and readers.
 */
#include "common/check.h"
#include "common/options.h"

#include <pirn/pthread_np.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TREES = 4, LEAVES = 24, FIRST = 30, PROCESSORS = 64 };

static uint64_t rounds = 180, loops = 40000;
static int node_of[PROCESSORS];

struct leaf {
    pthread_t thread;
    int made_on, ran_on, page_on; /* processors; the node of its stack */
};

struct counts {
    unsigned made, near, far, home, woken, with;
};

/* From /sys/devices/system/cpu/cpuN/nodeM. */
static void nodes_read(void)
{
    for (int cpu = 0; cpu < PROCESSORS; cpu++) {
        for (int node = 0; node < PROCESSORS; node++) {
            char path[96];
            snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
            if (access(path, F_OK) == 0) {
                node_of[cpu] = node;
            }
        }
    }
}

static int processor(void)
{
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= PROCESSORS) {
        fprintf(stderr, "nodes: processor %d; valid: 0 to %d\n", cpu, PROCESSORS - 1);
        exit(1);
    }
    return cpu;
}

/* The node that has the page; negative: the kernel does not say. */
static int page_node(const void *address)
{
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)4095);
    int status = -1;
    return syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0) == 0 ? status : -1;
}

static void work(uint64_t turns)
{
    for (volatile uint64_t i = 0; i < turns; i++) {
    }
}

static void *leaf_main(void *arg)
{
    struct leaf *leaf = arg;
    leaf->ran_on = processor();
    leaf->page_on = page_node(&leaf);
    work(loops);
    return NULL;
}

static void leaf_count(const struct leaf *leaf, struct counts *counts)
{
    int made = node_of[leaf->made_on];
    counts->made++;
    if (leaf->ran_on != leaf->made_on) {
        counts->near += node_of[leaf->ran_on] == made;
        counts->far += node_of[leaf->ran_on] != made;
    }
    counts->home += leaf->page_on == made;
}

static void *tree_main(void *arg)
{
    struct counts *counts = arg;
    struct leaf leaves[LEAVES];
    pthread_attr_t attr;
    small_stack_attr(&attr);
    for (uint64_t round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < LEAVES; i++) {
            leaves[i].made_on = processor();
            check_rc(pthread_create(&leaves[i].thread, &attr, leaf_main, &leaves[i]),
                     "pthread_create");
        }
        for (unsigned i = 0; i < LEAVES; i++) {
            thread_join(leaves[i].thread);
            leaf_count(&leaves[i], counts);
        }
    }
    pthread_attr_destroy(&attr);
    return NULL;
}

struct consumer {
    pthread_t thread;
    sem_t woken, done;
    struct consumer *next; /* is woken by this one */
    int ran_on;
};

static void *consumer_main(void *arg)
{
    struct consumer *self = arg;
    for (uint64_t round = 0; round < rounds; round++) {
        semaphore_wait(&self->woken);
        self->ran_on = processor();
        if (self->next != NULL) {
            semaphore_post(&self->next->woken);
            work(FIRST * loops);
        }
        work(loops);
        semaphore_post(&self->done);
    }
    return NULL;
}

static void consumer_start(struct consumer *c, struct consumer *next)
{
    c->next = next;
    semaphore_init(&c->woken, 0);
    semaphore_init(&c->done, 0);
    thread_start(&c->thread, consumer_main, c);
    check_rc(pthread_add_taskaffinity_np(c->thread, pthread_self()), "affinity");
}

static void trees(struct counts *counts)
{
    pthread_t threads[TREES];
    struct counts each[TREES] = {0};
    for (unsigned i = 0; i < TREES; i++) {
        thread_start(&threads[i], tree_main, &each[i]);
    }
    for (unsigned i = 0; i < TREES; i++) {
        thread_join(threads[i]);
        counts->made += each[i].made;
        counts->near += each[i].near;
        counts->far += each[i].far;
        counts->home += each[i].home;
    }
}

/* The caller is the producer. */
static void pairs(struct counts *counts)
{
    static struct consumer first, second;
    consumer_start(&second, NULL);
    consumer_start(&first, &second);
    for (uint64_t round = 0; round < rounds; round++) {
        int here = processor();
        work(loops);
        semaphore_post(&first.woken);
        semaphore_wait(&second.done); /* first: else this processor is its producer's again */
        semaphore_wait(&first.done);
        if (first.ran_on == here) {
            counts->woken++;
            counts->with += second.ran_on != here && node_of[second.ran_on] == node_of[here];
        }
    }
    thread_join(first.thread);
    thread_join(second.thread);
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_count("rounds", &rounds, 1, 1000000, "how often each thread starts or wakes others"),
        option_count("work", &loops, 0, 100000000, "loops of each thread's work"),
        {0},
    };
    const struct option_page page = {.summary = "Threads on several NUMA nodes.",
                                     .options = options};
    struct counts counts = {0};
    options_parse(argc, argv, &page);
    nodes_read();
    trees(&counts);
    pairs(&counts);
    printf("nodes: made=%u near=%u far=%u home=%u woken=%u with=%u\n", counts.made, counts.near,
           counts.far, counts.home, counts.woken, counts.with);
    return 0;
}
