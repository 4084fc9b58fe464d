/* SPDX-License-Identifier: MIT */
/*
 * reservoir.c - stacks of threads that have ended: as many as there were threads at once are kept
 * for the next ones, and what nobody uses goes back, also while other threads come and go.
 *
 *     pirn-reservoir          the default
 *     pirn-reservoir fixed    with PIRN_RESERVOIR: never more than that
 */
#include <pirn/pirn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "runtime.h"
#include "stack.h"

enum { CROWD = 6000, CHURN = 64 };

static pirn_sem_t gate, arrived;
static atomic_bool done;

static void check(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "reservoir: failed: %s (%u kept)\n", what, stack_cached());
        exit(1);
    }
}

static void *waits(void *arg)
{
    (void)arg;
    pirn_sem_post(&arrived);
    pirn_sem_wait(&gate);
    return NULL;
}

/* n threads at once. */
static void crowd(unsigned n)
{
    pirn_thread_t *threads = calloc(n, sizeof(*threads));
    check(threads != NULL, "memory");
    for (unsigned i = 0; i < n; i++) {
        check(pirn_create(&threads[i], NULL, waits, NULL) == 0, "pirn_create");
    }
    for (unsigned i = 0; i < n; i++) {
        pirn_sem_wait(&arrived);
    }
    for (unsigned i = 0; i < n; i++) {
        pirn_sem_post(&gate);
    }
    for (unsigned i = 0; i < n; i++) {
        check(pirn_join(threads[i], NULL) == 0, "pirn_join");
    }
    free(threads);
}

static uint64_t stacks_made(void)
{
    uint64_t made = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        made += STAT_GET(&rt.cpus[i]->stats.stacks_new);
    }
    return made;
}

/* Beside the runtime's own helper, and far more often. */
static void *trims(void *arg)
{
    (void)arg;
    while (!atomic_load(&done)) {
        rt_trim_memory();
    }
    return NULL;
}

/* On a slow machine the helper may give back what is looked for: so one of many crowds must show
 * it. */
static void grows(void)
{
    bool kept = false, used = false;
    for (int i = 0; i < 100 && !(kept && used); i++) {
        uint64_t made = stacks_made();
        crowd(CROWD);
        kept = kept || stack_cached() > rt.reservoir;
        used = used || stacks_made() - made < CROWD / 4;
    }
    check(kept, "the stacks of a crowd are kept");
    check(used, "the next crowd has them");
    while (stack_cached() > rt.reservoir) { /* the helper gives half of them back every second */
        crowd(CHURN);
    }
    pthread_t trimmer;
    check(pthread_create(&trimmer, NULL, trims, NULL) == 0, "pthread_create");
    for (int i = 0; i < 20; i++) {
        crowd(CROWD);
        crowd(CHURN);
    }
    atomic_store(&done, true);
    pthread_join(trimmer, NULL);
    while (rt_memory_to_trim()) {
        rt_trim_memory();
    }
    check(stack_cached() <= rt.reservoir, "nothing beyond the reservoir is left");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fixed") == 0) {
        crowd(CROWD);
        check(stack_cached() <= rt.reservoir, "no more than the reservoir is kept");
    } else {
        grows();
    }
    printf("reservoir: done\n");
    return 0;
}
