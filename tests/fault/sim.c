/* SPDX-License-Identifier: MIT */
/*
 * sim.c - in the simulator, the n-th allocation of a stack or TLS block fails, for every n. If only
 * that one fails, the program does not notice, because the creation tries again. If all later ones
 * fail, too, that creation returns -EAGAIN. Everything else continues, and no stack is left over
 * (the simulator counts them at the end). The first allocation is the scheduler's own: then the
 * runtime does not start, with a message.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pirn/pirn.h>

#include "sim.h"

enum { CREATORS = 4, CHILDREN = 5, NTH_MAX = 1 + CREATORS * (CHILDREN + 1), SEEDS = 30 };

static pirn_thread_storage_t storages[CREATORS][CHILDREN];
static pirn_sem_t gate;
static int failures[CREATORS + 1]; /* by creator */

static void *child_main(void *arg)
{
    pirn_sem_wait(&gate);
    return arg;
}

/* 1: created; 0: memory was refused, and later it works. Never refused twice. */
static int create(pirn_thread_t *t, unsigned creator, pirn_thread_storage_t *storage,
                  void *(*fn)(void *), void *arg)
{
    pirn_attr_t attr = {.storage = storage, .stack_size = storage != NULL ? 40960 : 0};
    int error = pirn_create(t, sim_random(2) != 0 || storage != NULL ? &attr : NULL, fn, arg);
    if (error == 0) {
        return 1;
    }
    if (error != -EAGAIN) {
        sim_fail("pirn_create returned %d", error);
    }
    failures[creator]++;
    sim_alloc_mend();
    if (pirn_create(t, &attr, fn, arg) != 0) {
        sim_fail("pirn_create fails again");
    }
    return 0;
}

static void *creator_main(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;
    pirn_thread_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++) {
        create(&children[i], self, i % 2 != 0 ? &storages[self][i] : NULL, child_main,
               &children[i]);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        pirn_sem_post(&gate);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        void *ret;
        if (pirn_join(children[i], &ret) != 0 || ret != &children[i]) {
            sim_fail("a child is lost");
        }
    }
    return NULL;
}

static void body(void *unused)
{
    pirn_thread_t creators[CREATORS];
    (void)unused;
    gate = (pirn_sem_t)PIRN_SEM_INIT(0);
    memset(failures, 0, sizeof(failures));
    for (unsigned i = 0; i < CREATORS; i++) {
        create(&creators[i], CREATORS, NULL, creator_main, (void *)(uintptr_t)i);
    }
    for (unsigned i = 0; i < CREATORS; i++) {
        if (pirn_join(creators[i], NULL) != 0) {
            sim_fail("a creator is lost");
        }
    }
}

static unsigned failures_sum(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i <= CREATORS; i++) {
        n += (unsigned)failures[i];
    }
    return n;
}

/* Stacks and TLS blocks (about half the seeds have them) of ended threads are used again, so a late
 * n may never come. Creators may fail at the same time. */
static int run(const struct sim_config *config, unsigned *failed)
{
    struct sim_result result;
    memset(&result, 0, sizeof(result));
    sim_run(config, body, NULL, &result);
    bool starts = config->fail_alloc != 1;
    *failed += starts ? failures_sum() : 1;
    unsigned most = config->fail_more ? CREATORS + 1 : 0;
    if (starts ? result.failed || failures_sum() > most
               : !result.failed || strstr(result.why, "cannot start the runtime") == NULL) {
        fprintf(stderr, "FAILED %s, %u CPUs, seed %llu, allocation %u%s: %u failures; %s\n",
                config->sched, config->ncpu, (unsigned long long)config->seed, config->fail_alloc,
                config->fail_more ? " and on" : "", failures_sum(), result.why);
        return 1;
    }
    return 0;
}

int main(void)
{
    static const char *const scheds[] = {"steal", "single", "central", "dist", "request"};
    unsigned bad = 0, runs = 0, failed = 0;
    for (unsigned s = 0; s < sizeof(scheds) / sizeof(scheds[0]); s++) {
        for (unsigned nth = 1; nth <= NTH_MAX; nth++) {
            for (uint64_t seed = 0; seed < SEEDS; seed++, runs++) {
                struct sim_config config = {.seed = seed,
                                            .ncpu = 1 + (unsigned)seed % 3,
                                            .weak = seed % 2 != 0,
                                            .sched = scheds[s],
                                            .reservoir = seed % 4 == 0 ? "0" : NULL,
                                            .fail_alloc = nth,
                                            .fail_more = seed % 3 != 0};
                bad += (unsigned)run(&config, &failed);
            }
        }
    }
    printf("%u runs, an allocation failed in %u, %u went wrong\n", runs, failed, bad);
    return bad == 0 && failed > runs / 3 ? 0 : 1;
}
