/* SPDX-License-Identifier: MIT */
/*
 * counters.c - the runtime's and the policy's counters (policy operation `stat`) of a part of a run
 * (graph.h).
 */
#include <pirn/pirn.h>
#include <string.h>

#include "graph.h"
#include "runtime.h"
#include "sim.h"

static void counter_add(void *to, const char *name, uint64_t value)
{
    struct counters *c = to;
    unsigned i = 0;
    while (i < c->n && strcmp(c->counter[i].name, name) != 0) {
        i++;
    }
    if (i == COUNTERS_MAX) {
        sim_fail("more than %d counters: %s", COUNTERS_MAX, name);
    }
    if (i == c->n) {
        c->counter[c->n++] = (struct counter){.name = name};
    }
    c->counter[i].value += value;
}

void counters_read(struct counters *c)
{
    struct pirn_counters sum;
    pirn_stats(&sum);
    c->n = 0;
    counter_add(c, "steals", sum.steals);
    counter_add(c, "steal_attempts", sum.steal_attempts);
    counter_add(c, "kicks", sum.kicks);
    counter_add(c, "sleeps", sum.sleeps);
    counter_add(c, "idle_ns", sum.idle_ns);
    for (unsigned i = 0; rt.policy.stat != NULL && i < rt.ncpu; i++) {
        rt.policy.stat(rt.cpus[i], counter_add, c);
    }
}

/* The names are the same ones, in the same order. */
void counters_take(struct counters *c, const struct counters *before)
{
    for (unsigned i = 0; i < c->n; i++) {
        c->counter[i].value -= before->counter[i].value;
    }
}
