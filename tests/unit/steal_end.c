/* SPDX-License-Identifier: MIT */
/*
 * steal_end.c - the end of a ready queue from which thieves of policy "steal" take: not the end of
 * the owner's joins, never a thread that was handed over, and the tail if that was requested.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/sched/built_in.h"
#include "../../src/sched/steal.h"
#include "runtime.h"

enum { N = 6, LOOKS = 64 };

static struct cpu cpus[2];
static struct thread *t[N];
static struct pirn_policy table;
static const struct pirn_policy *const policy = &table;
static const char *where;
static int failures;

static void expect(const struct thread *got, const struct thread *wanted, const char *what)
{
    if (got != wanted) {
        fprintf(stderr, "FAILED %s: %s\n", where, what);
        failures++;
    }
}

static void fresh(struct thread **thread)
{
    free(*thread);
    *thread = aligned_alloc(RT_CACHELINE, (sizeof(**thread) + 63) & ~(size_t)63);
    if (*thread == NULL) {
        perror("thread");
        exit(1);
    }
    memset((void *)*thread, 0, sizeof(**thread));
    if (policy->thread_init != NULL && policy->thread_init(*thread, NULL) != 0) {
        fprintf(stderr, "thread_init\n");
        exit(1);
    }
}

/* Two CPUs; t[0] to t[N - 1] are ready on the first, in this order. */
static void begin(bool far)
{
    rt.ncpu = 2;
    rt.slice_ticks = 1;
    for (unsigned i = 0; i < 2; i++) {
        memset((void *)&cpus[i], 0, sizeof(cpus[i]));
        cpus[i].id = i;
        rt.cpus[i] = &cpus[i];
    }
    if (policy->init(2) != 0) {
        fprintf(stderr, "init\n");
        exit(1);
    }
    steal.one = true;
    steal.from_tail = !far;
    for (unsigned i = 0; i < 2; i++) {
        if (sched_has_classes()) {
            classes_announce_other(&cpus[i]);
        }
    }
    for (unsigned i = 0; i < N; i++) {
        fresh(&t[i]);
        policy->enqueue(&cpus[0], t[i], PIRN_WHY_SPAWN);
    }
}

static void join(unsigned i)
{
    if (!policy->remove(&cpus[0], t[i])) {
        fprintf(stderr, "FAILED %s: remove\n", where);
        failures++;
    }
}

/* The thread that the second CPU takes when it has searched often enough. */
static struct thread *stolen(void)
{
    struct thread *got = NULL;
    steal.queues[1].backoff_until = 0;
    for (unsigned look = 0; look < LOOKS && got == NULL; look++) {
        got = policy->search(&cpus[1]);
    }
    return got;
}

static void ends(void)
{
    begin(true);
    expect(stolen(), t[N - 1], "without joins, from the tail");

    begin(true);
    join(N - 1);
    expect(stolen(), t[1], "who joins the newest loses the oldest but the first");
    join(0);
    expect(stolen(), t[N - 2], "who joins the oldest loses the newest");

    begin(true);
    for (unsigned i = N - 1; i > 0; i--) {
        join(i);
    }
    expect(stolen(), t[0], "the only one");

    begin(false);
    join(N - 1);
    expect(stolen(), t[N - 2], "end=tail");
}

static void ends_under(enum discipline discipline, const char *name)
{
    where = name;
    sched_chosen.discipline = discipline;
    sched_use(&table, &sched_steal.policy);
    sched_settle(&table, false);
    ends();
}

int main(void)
{
    ends_under(DISCIPLINE_FIFO, "fifo");
    ends_under(DISCIPLINE_POSIX, "posix");
    return failures != 0;
}
