/* SPDX-License-Identifier: MIT */
/*
 * io_block.c - calls that wait, calls.h: other threads run meanwhile, and one of them ends the
 * wait. Each row in three ways: a thread waits; main waits; a thread waits beside others that never
 * stop.
 */
#include "calls.h"

static void lets_others_run(const void *row)
{
    const struct call *c = row;
    pthread_t t = call_start(c);
    CHECK(!call_has_returned());
    c->satisfy();
    join(t);
    OK(call_result());
}

static void lets_others_run_while_main_waits(const void *row)
{
    OK(call_here(row));
}

static flag_t turns[2], stop;

static void *yields(void *arg)
{
    flag_t *turn = arg;
    while (flag_get(&stop) == 0) {
        flag_add(turn, 1);
        sched_yield();
    }
    return NULL;
}

static void returns_beside_busy_threads(const void *row)
{
    const struct call *c = row;
    pthread_t busy[COUNT(turns)];
    for (size_t i = 0; i < COUNT(turns); i++) {
        busy[i] = start(yields, &turns[i]);
    }
    pthread_t t = call_start(c);
    for (size_t i = 0; i < COUNT(turns); i++) {
        flag_wait(&turns[i], flag_get(&turns[i]) + 2); /* they run while it waits */
    }
    CHECK(!call_has_returned());
    c->satisfy();
    join(t); /* though other threads are always ready */
    flag_set(&stop, 1);
    for (size_t i = 0; i < COUNT(turns); i++) {
        join(busy[i]);
    }
    OK(call_result());
}

static const char *suffix;

static const char *name_of(const void *row)
{
    char *name = malloc(96);
    snprintf(name, 96, "%s_%s", ((const struct call *)row)->name, suffix);
    return name;
}

static void add(const struct call_table *t)
{
    suffix = "lets_others_run";
    cases_add(lets_others_run, t->calls, sizeof(struct call), t->count, name_of);
    suffix = "lets_others_run_while_main_waits";
    cases_add(lets_others_run_while_main_waits, t->calls, sizeof(struct call), t->count, name_of);
    suffix = "returns_beside_busy_threads";
    cases_add(returns_beside_busy_threads, t->calls, sizeof(struct call), t->count, name_of);
}

static __attribute__((constructor)) void add_all(void)
{
    add(&descriptor_calls);
    add(&process_calls);
}
