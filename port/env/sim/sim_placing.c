/* SPDX-License-Identifier: MIT */
/*
 * sim_placing.c - checks the places of consumers (task affinity) by a record of its own: which
 * thread each CPU has taken last, and which consumers wait for it. A test that declares its
 * dependencies, and does not change them afterwards, switches it on (sim_placing). All its threads
 * are of class OTHER, so none precedes a consumer.
 *
 * A run fails when, under the rules declared and auto,
 *   1. the waking CPU's last thread is a producer of the consumer, and the consumer goes elsewhere;
 *   2. declared: a consumer goes to a CPU whose last thread was no producer at any moment of the
 *      wake-up. Not checked if it goes to a CPU near a producer's (NUMA);
 *   3. a CPU picks one of the consumers that wait for it, and that is not the latest;
 * and under the rule old
 *   4. a consumer goes to a CPU where none of its producers ran last.
 *
 * The record follows the calls of core/handed.h, after the operations of the policy. So another CPU
 * may be about to take a thread that the record does not yet know (2 and 4): then its next thread
 * must be the producer. With weak memory a waker may see older values of what other CPUs have
 * written, which costs a wrong place for one wake-up: so there 2 is checked for its own CPU only,
 * and 4 is not.
 *
 * Nothing here is a scheduling point: a seed's run is the same with and without.
 */
#include <string.h>

#include "../../../src/core/handed.h"
#include "../../../src/core/id.h"
#include "../../../src/core/placing.h"
#include "../../../src/core/producers.h"
#include "sim_internal.h"

enum { THREADS = 64, NOWHERE = -1 };

/* A life of a thread; slot NULL: none. */
struct taken {
    const struct id_slot *slot;
    uint32_t life;
};

/* By the thread's index. */
struct placed {
    const struct consumer *consumer; /* NULL: no place is looked for, or since before the record */
    uint64_t good;  /* bit: that CPU's last thread was a producer since the wake-up began */
    int must;       /* the CPU that it has to go to; NOWHERE: none in particular */
    int queue;      /* where it waits, or waited last; NOWHERE */
    uint64_t since; /* when it was linked there; 0: it is not */
    bool latest;    /* it was taken out, and none came to that queue after it */
    int ran_on;     /* the CPU that took it last; NOWHERE */
    struct taken ran;
};

static struct {
    bool on;
    enum placing_rule rule; /* of all */
    uint64_t links;
    struct taken last[RT_MAX_CPUS];
    const struct consumer *next_of[RT_MAX_CPUS]; /* its next thread must be a producer of that */
    struct placed threads[THREADS];
} record;

void sim_placing_begin(void)
{
    memset(&record, 0, sizeof(record));
    for (unsigned i = 0; i < THREADS; i++) {
        record.threads[i].must = record.threads[i].queue = record.threads[i].ran_on = NOWHERE;
    }
}

static struct placed *entry_of(const struct thread *t)
{
    if (t->index >= THREADS) {
        sim_fail("places: thread %u: this record has room for %d", t->index, THREADS);
    }
    return &record.threads[t->index];
}

static void takes(unsigned cpu, const struct thread *t)
{
    if (t->index < THREADS) {
        record.threads[t->index].ran_on = (int)cpu;
        record.threads[t->index].ran = (struct taken){t->id_slot, t->generation};
    }
    record.last[cpu] = (struct taken){t->id_slot, t->generation};
}

/* The main thread has not been taken: it runs. */
void sim_placing(void)
{
    if (rt.ncpu > 64) {
        sim_fail("places: %u CPUs: this record has room for 64", rt.ncpu);
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        const struct thread *t = rt.cpus[i]->current;
        if (record.last[i].slot == NULL && t != NULL && !(t->flags & THREAD_IDLE)) {
            takes(i, t);
        }
    }
    record.on = true;
}

/* Is it declared as one? */
static bool produces(const struct consumer *c, struct taken t)
{
    bool found = false;
    sim_quiet = true;
    for (uint32_t i = 0; i < at_load_rlx(&c->count); i++) {
        found = found || (t.slot != NULL && at_load_rlx(&c->of[i].slot) == t.slot &&
                          at_load_rlx(&c->of[i].life) == t.life);
    }
    sim_quiet = false;
    return found;
}

static bool old_rule(void)
{
    return record.rule == PLACING_OLD;
}

/* By the rule: may c's thread go to that CPU now? */
static bool is_good(const struct consumer *c, unsigned cpu)
{
    if (!old_rule()) {
        return produces(c, record.last[cpu]);
    }
    bool good = false;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct placed *p = &record.threads[i];
        good = good || (p->ran_on == (int)cpu && produces(c, p->ran));
    }
    return good;
}

static uint64_t all_good(const struct consumer *c)
{
    uint64_t good = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        good |= is_good(c, i) ? 1ull << i : 0;
    }
    return good;
}

/* ---- what CPUs run ---- */

void sim_placing_runs(const struct cpu *cpu, const struct thread *t)
{
    takes(cpu->id, t);
    if (!record.on) {
        return;
    }
    const struct consumer *c = record.next_of[cpu->id];
    record.next_of[cpu->id] = NULL;
    if (c != NULL && !produces(c, record.last[cpu->id])) {
        sim_fail("places: a consumer waits for CPU %u, whose last thread was no producer of it, "
                 "and which takes thread %u",
                 cpu->id, t->index);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        struct placed *p = &record.threads[i];
        if (p->consumer != NULL && is_good(p->consumer, cpu->id)) {
            p->good |= 1ull << cpu->id;
        }
    }
}

void sim_placing_takes(const struct cpu *cpu, const struct thread *t, const char *by)
{
    bool picks = strcmp(by, "pick") == 0 || strcmp(by, "preempt") == 0;
    if (record.on) {
        struct placed *p = entry_of(t);
        if (picks && p->queue == (int)cpu->id && !p->latest && !old_rule()) {
            sim_fail("places: CPU %u takes the consumer %u, and others came after it", cpu->id,
                     t->index);
        }
        p->queue = NOWHERE;
    }
    sim_placing_runs(cpu, t);
}

/* ---- core/placing.h ---- */

void placing_begins(const struct cpu *self, const struct thread *t, enum placing_rule rule,
                    bool preceded)
{
    if (!record.on) {
        return;
    }
    record.rule = rule;
    struct placed *p = entry_of(t);
    p->consumer = t->id_slot->consumer;
    p->good = all_good(p->consumer);
    bool here =
        self != NULL && !preceded && !old_rule() && produces(p->consumer, record.last[self->id]);
    p->must = here ? (int)self->id : NOWHERE;
    p->queue = NOWHERE;
    p->since = 0;
}

/* It is not (2, 4), as far as the record knows. */
static void is_not_good(const struct cpu *self, unsigned cpu, const struct thread *t,
                        const struct placed *p)
{
    bool here = self != NULL && self->id == cpu;
    if (here && !old_rule()) {
        sim_fail("places: consumer %u goes to the waking CPU %u, where no producer runs", t->index,
                 cpu);
    }
    if (!sim.config.weak) {
        record.next_of[cpu] = p->consumer;
    }
}

void placing_links_locked(const struct cpu *self, unsigned cpu, const struct thread *t, bool near)
{
    if (!record.on) {
        return;
    }
    struct placed *p = entry_of(t);
    if (p->must != NOWHERE && p->must != (int)cpu) {
        sim_fail("places: consumer %u goes to CPU %u, and its producer runs on the waking CPU %d",
                 t->index, cpu, p->must);
    }
    if (!near && p->consumer != NULL && record.rule != PLACING_LEARNED && !(p->good >> cpu & 1)) {
        is_not_good(self, cpu, t, p);
    }
    p->consumer = NULL;
    p->must = NOWHERE;
    p->queue = (int)cpu;
    p->since = ++record.links;
}

void placing_unlinks_locked(unsigned cpu, const struct thread *t)
{
    if (!record.on) {
        return;
    }
    struct placed *p = entry_of(t);
    p->latest = true;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct placed *other = &record.threads[i];
        p->latest = p->latest && !(other->queue == (int)cpu && other->since > p->since);
    }
    p->since = 0;
}

void placing_leaves(const struct cpu *self, const struct thread *t)
{
    (void)self;
    if (!record.on) {
        return;
    }
    struct placed *p = entry_of(t);
    if (p->must != NOWHERE) {
        sim_fail("places: consumer %u goes to the policy, and its producer runs on the waking "
                 "CPU %d",
                 t->index, p->must);
    }
    p->consumer = NULL;
    p->queue = NOWHERE;
}
