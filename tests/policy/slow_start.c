/* SPDX-License-Identifier: MIT */
/*
 * slow_start.c - a policy that takes many ticks to begin. Until it has begun, the thread that
 * starts the runtime is not preempted. It reports calls that come too early.
 */
#define _GNU_SOURCE
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "example.h"

static struct pirn_policy slow;
static volatile int ready;

static int slow_init(unsigned ncpu)
{
    clock_t until = clock() + CLOCKS_PER_SEC / 10; /* ticks are of CPU time */
    while (clock() < until) {
        for (volatile int i = 0; i < 10000; i++) { /* mostly outside of the C library */
        }
    }
    ready = 1;
    return example_home.init(ncpu);
}

static pirn_thread_t slow_pick(pirn_cpu_t self)
{
    if (!ready) {
        fputs("pick before init\n", stderr);
        abort();
    }
    return example_home.pick(self);
}

static void *nothing(void *arg)
{
    return arg;
}

int main(void)
{
    pirn_thread_t t;
    slow = example_home;
    slow.name = "slow";
    slow.init = slow_init;
    slow.pick = slow_pick;
    if (pirn_sched_register(&slow) != 0) {
        fprintf(stderr, "%s\n", pirn_sched_refusal());
        return 1;
    }
    if (pirn_create(&t, NULL, nothing, NULL) != 0 || pirn_join(t, NULL) != 0) {
        return 1;
    }
    puts("started");
    return 0;
}
