/* SPDX-License-Identifier: MIT */
/*
 * sim_ready.c (simulator) - ready threads in the hardware, and lines for which they wait
 * (port_ready.h): short queues, and room for few that wait, so that both are often full. Any CPU
 * may take from any queue, and may get nothing if there are several.
 *
 * `order` stands for the memory order alone: the giver's read-modify-write is a release, the
 * taker's an acquire. Everything else runs without a scheduling point.
 */
#include <string.h>

#include "cpu.h"
#include "port_ready.h"
#include "runtime.h"
#include "sim_internal.h"

enum { ROOM = 3, WAITERS = 3, LINES = 256 };

static struct queue {
    struct thread *threads[ROOM];
    unsigned count;
    _Atomic(uint32_t) order;
} queues[RT_MAX_CPUS];

/* Lines that have been used, by address; never more than a run uses. */
static struct line {
    const struct port_line *at;
    bool full, kept;
} lines[LINES];
static unsigned nlines;
static _Atomic(uint32_t) line_order;

static struct waiter {
    struct thread *t; /* NULL: free */
    struct line *line;
    bool full, woken;
    uint64_t turn;
} waiters[WAITERS];
static uint64_t turns;

void port_line_forget(void)
{
    nlines = 0;
    memset(waiters, 0, sizeof(waiters));
}

void sim_ready_reset(void)
{
    port_line_forget();
    at_init(&line_order, 0u);
    for (unsigned i = 0; i < RT_MAX_CPUS; i++) {
        queues[i].count = 0;
        at_init(&queues[i].order, 0u);
    }
}

unsigned port_ready_room(void)
{
    return ROOM;
}

bool port_ready_give(struct thread *t)
{
    struct cpu *self = port_cpu_self();
    struct queue *q = &queues[self != NULL && self->id != RT_NO_CPU ? self->id : 0];
    at_add_acq_rel(&q->order, 1u); /* ORDER(hw) */
    if (q->count == ROOM) {
        return false;
    }
    q->threads[q->count++] = t;
    return true;
}

static unsigned woken_count(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < WAITERS; i++) {
        count += waiters[i].t != NULL && waiters[i].woken;
    }
    return count;
}

static struct thread *take_woken(void)
{
    unsigned i = sim_choose(WAITERS);
    while (waiters[i].t == NULL || !waiters[i].woken) {
        i = (i + 1) % WAITERS;
    }
    struct thread *t = waiters[i].t;
    waiters[i].t = NULL;
    return t;
}

struct thread *port_ready_take(unsigned cycles)
{
    (void)cycles;
    sim_point('r', 0);
    unsigned left = port_ready_count();
    if (left == 0 || (rt.ncpu > 1 && sim_choose(8) == 0)) {
        return NULL;
    }
    unsigned woken = woken_count();
    if (woken != 0 && (woken == left || sim_choose(2) == 0)) {
        struct thread *t = take_woken();
        at_add_acq_rel(&line_order, 1u); /* ORDER(hw) */
        return t;
    }
    unsigned i = sim_choose(rt.ncpu);
    while (queues[i].count == 0) {
        i = (i + 1) % rt.ncpu;
    }
    struct queue *q = &queues[i];
    struct thread *t = q->threads[0];
    q->count--;
    memmove(&q->threads[0], &q->threads[1], q->count * sizeof(q->threads[0]));
    at_add_acq_rel(&q->order, 1u); /* ORDER(hw) */
    return t;
}

unsigned port_ready_count(void)
{
    unsigned count = woken_count();
    for (unsigned i = 0; i < rt.ncpu; i++) {
        count += queues[i].count;
    }
    return count;
}

static struct line *line_at(const struct port_line *at)
{
    for (unsigned i = 0; i < nlines; i++) {
        if (lines[i].at == at) {
            return &lines[i];
        }
    }
    if (nlines == LINES) {
        sim_fail("more than %d lines", LINES);
    }
    lines[nlines] = (struct line){.at = at};
    return &lines[nlines++];
}

/* The line gets this state: who waited last for it is woken, and the line kept for it. */
static bool line_becomes(struct line *line, bool full)
{
    struct waiter *last = NULL;
    for (unsigned i = 0; i < WAITERS; i++) {
        struct waiter *w = &waiters[i];
        if (w->t != NULL && !w->woken && w->line == line && w->full == full &&
            (last == NULL || w->turn > last->turn)) {
            last = w;
        }
    }
    line->full = full;
    line->kept = last != NULL;
    if (last != NULL) {
        last->woken = true;
    }
    return last != NULL;
}

bool port_line_take(struct port_line *l, bool full, bool kept)
{
    at_add_acq_rel(&line_order, 1u); /* ORDER(hw) */
    struct line *line = line_at(l);
    if (line->full != full || (line->kept && !kept)) {
        return false;
    }
    line_becomes(line, !full);
    return true;
}

bool port_line_set(struct port_line *l, bool full)
{
    at_add_acq_rel(&line_order, 1u); /* ORDER(hw) */
    return line_becomes(line_at(l), full);
}

bool port_line_wait(struct port_line *l, bool full, struct thread *t)
{
    at_add_acq_rel(&line_order, 1u); /* ORDER(hw) */
    struct line *line = line_at(l);
    struct waiter *w = waiters;
    while (w < &waiters[WAITERS] && w->t != NULL) {
        w++;
    }
    if ((line->full == full && !line->kept) || w == &waiters[WAITERS]) {
        return false;
    }
    *w = (struct waiter){.t = t, .line = line, .full = full, .turn = ++turns};
    return true;
}

bool port_line_full(const struct port_line *l)
{
    at_add_acq_rel(&line_order, 1u); /* ORDER(hw) */
    const struct line *line = line_at(l);
    return line->full && !line->kept;
}
