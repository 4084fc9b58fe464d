/* SPDX-License-Identifier: MIT */
/*
 * thief_longer.c - policy "steal": a CPU without work that sees a lone ready thread on the next CPU
 * takes from a longer queue further away first.
 *
 * Three CPUs, each kept by a thread that does not give it up. One of the threads ends; before that
 * those of the two next CPUs create one thread, and several.
 */
#include <pirn/pirn.h>
#include <stddef.h>

#include "say.h"

enum { CPUS = 3, MANY = 8 };

static int leaves = -1;         /* the CPU whose thread ends */
static unsigned kept, made;     /* threads that keep CPUs; queues that are filled */
static unsigned ran, lone, end; /* threads that ran; before the lone one; all CPUs are free */
static pirn_thread_t lone_thread, thread[MANY];

static unsigned get(const unsigned *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void add(unsigned *word)
{
    __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

static void *is_many(void *arg)
{
    add(&ran);
    return arg;
}

static void *is_lone(void *arg)
{
    __atomic_store_n(&lone, get(&ran), __ATOMIC_RELEASE);
    add(&end);
    return arg;
}

/* Keeps its CPU, and fills the queue there. */
static void keep(void)
{
    int cpu = pirn_cpu_self();
    add(&kept);
    while (get(&kept) != CPUS) {
    }
    if (cpu == (leaves + 1) % CPUS) {
        CHECK(pirn_create(&lone_thread, NULL, is_lone, NULL) == 0);
    } else if (cpu == (leaves + 2) % CPUS) {
        for (int i = 0; i < MANY; i++) {
            CHECK(pirn_create(&thread[i], NULL, is_many, NULL) == 0);
        }
    }
    add(&made);
    while (cpu == leaves ? get(&made) != CPUS : get(&end) == 0) {
    }
}

static void *keeps(void *arg)
{
    if (arg != NULL) {
        leaves = pirn_cpu_self();
    }
    keep();
    return NULL;
}

int main(void)
{
    pirn_thread_t keeper[CPUS - 1];
    CHECK(pirn_cpu_count() == CPUS);
    for (unsigned i = 0; i < CPUS - 1; i++) {
        CHECK(pirn_create(&keeper[i], NULL, keeps, i == 0 ? &keeper[0] : NULL) == 0);
        while (get(&kept) != i + 1) {
        }
    }
    keep();
    for (unsigned i = 0; i < CPUS - 1; i++) {
        CHECK(pirn_join(keeper[i], NULL) == 0);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(pirn_join(thread[i], NULL) == 0);
    }
    CHECK(pirn_join(lone_thread, NULL) == 0);
    CHECK(lone >= MANY - 2); /* half of them at a time: the last one is a lone thread, too */
    say("longer queues first\n");
    return 0;
}
