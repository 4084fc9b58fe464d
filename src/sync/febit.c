/* SPDX-License-Identifier: MIT */
/*
 * febit.c - Full/Empty word: read when full, write when empty. Here in software; where the hardware
 * knows full and empty lines of memory, febit_lines.c does it.
 *
 * Everything happens under the queue lock (RANK_WAITQ). Invariants:
 *   1. Readers and takers wait only while the word is empty, writers only while it is full: the
 *      queue never holds both kinds at rest.
 *   2. Values are handed over: a waiter's value travels in wait_value, and it owns the result when
 *      it wakes.
 */
#include <errno.h>

#include "febit_lines.h"
#include "mutant.h"
#include "sync.h"
#include "wake.h"

void rt_fe_init(struct rt_fe *w)
{
    *w = (struct rt_fe){0};
    at_init(&w->queue.lock.word, 0u);
    if (line_is_used()) {
        fe_lines_init(w);
    }
}

/* The word is empty: let the first writer fill it. */
static void fe_refill_locked(struct rt_fe *w, struct list *woken);

/* The word has become full: serve readers, and the first taker. A take lets a writer in, and so on.
 */
static void fe_serve_locked(struct rt_fe *w, struct list *woken)
{
    struct thread *t;
    RT_ASSERT(w->full.word == 1 && state_is_held(&w->queue.lock, RANK_WAITQ));
    while ((t = waitq_pop_kind_locked(&w->queue, FE_READ)) != NULL) {
        t->wait_value = w->value;
        list_push_back(woken, &t->wait_link);
    }
    t = waitq_pop_kind_locked(&w->queue, FE_TAKE);
    if (t != NULL) {
        t->wait_value = w->value;
        list_push_back(woken, &t->wait_link);
        if (!MUTANT(FE_DOUBLE)) {
            w->full.word = 0;
            fe_refill_locked(w, woken);
        }
    }
}

static void fe_refill_locked(struct rt_fe *w, struct list *woken)
{
    RT_ASSERT(w->full.word == 0 && state_is_held(&w->queue.lock, RANK_WAITQ));
    struct thread *t = waitq_pop_kind_locked(&w->queue, FE_WRITE);
    if (t != NULL) {
        w->value = t->wait_value;
        w->full.word = 1;
        list_push_back(woken, &t->wait_link);
        fe_serve_locked(w, woken);
    }
}

/* For assertions: invariant 1, as far as the first waiter shows it. */
UNUSED ALWAYS_INLINE bool fe_is_at_rest_locked(const struct rt_fe *w)
{
    const struct thread *t = waitq_peek_locked(&w->queue);
    return t == NULL || (t->wait_kind == FE_WRITE) == (w->full.word != 0);
}

static int fe_block_locked(struct rt_fe *w, uint64_t *value, uint8_t kind, uint64_t deadline)
{
    struct thread *self = rt_self();
    RT_ASSERT(fe_is_at_rest_locked(w) && (w->full.word != 0) == (kind == FE_WRITE));
    self->wait_value = *value;
    struct waitq_options options = {.deadline = deadline,
                                    .object = w,
                                    .reason = kind == FE_WRITE ? WAIT_FE_EMPTY : WAIT_FE_FULL,
                                    .kind = kind,
                                    .rank = RANK_WAITQ};
    int result = waitq_block_locked(&w->queue, &options);
    if (result == 0) {
        *value = self->wait_value;
    }
    return result;
}

static int fe_access(struct rt_fe *w, uint64_t *value, uint8_t kind, uint64_t deadline)
{
    struct list woken;
    unsigned long irq;
    int result = 0;
    list_init(&woken);
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    rt_self();
    if (line_is_used()) {
        return fe_lines_access(w, value, kind, deadline);
    }
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&w->queue.lock, RANK_WAITQ);
    if ((w->full.word != 0) == (kind == FE_WRITE)) {
        result = fe_block_locked(w, value, kind, deadline);
        rt_leave(irq);
        return result;
    }
    if (kind == FE_WRITE) {
        w->value = *value;
        w->full.word = 1;
        fe_serve_locked(w, &woken);
    } else {
        *value = w->value;
        if (kind == FE_TAKE) {
            w->full.word = 0;
            fe_refill_locked(w, &woken);
        }
    }
    RT_ASSERT(fe_is_at_rest_locked(w) || MUTANT(FE_DOUBLE));
    state_unlock(&w->queue.lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_HANDOFF, irq);
    rt_leave_woken(irq);
    return result;
}

int rt_fe_write_until(struct rt_fe *w, uint64_t value, uint64_t deadline)
{
    return fe_access(w, &value, FE_WRITE, deadline);
}

int rt_fe_read_until(struct rt_fe *w, uint64_t *value, uint64_t deadline)
{
    return fe_access(w, value, FE_READ, deadline);
}

int rt_fe_take_until(struct rt_fe *w, uint64_t *value, uint64_t deadline)
{
    return fe_access(w, value, FE_TAKE, deadline);
}

/* Set the state without waiting. */
static void fe_force(struct rt_fe *w, bool full, uint64_t value)
{
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    rt_self();
    if (line_is_used()) {
        fe_lines_force(w, full, value);
        return;
    }
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&w->queue.lock, RANK_WAITQ);
    w->full.word = full;
    if (full) {
        w->value = value;
        fe_serve_locked(w, &woken);
    } else {
        fe_refill_locked(w, &woken);
    }
    RT_ASSERT(fe_is_at_rest_locked(w) || MUTANT(FE_DOUBLE));
    state_unlock(&w->queue.lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_HANDOFF, irq);
    rt_leave_woken(irq);
}

void rt_fe_overwrite(struct rt_fe *w, uint64_t value)
{
    fe_force(w, true, value);
}

void rt_fe_purge(struct rt_fe *w)
{
    fe_force(w, false, 0);
}

bool rt_fe_full(struct rt_fe *w)
{
    unsigned long irq;
    if (line_is_used()) {
        return fe_lines_full(w);
    }
    rt_enter(&irq);
    state_lock(&w->queue.lock, RANK_WAITQ);
    bool full = w->full.word != 0;
    state_unlock(&w->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return full;
}
