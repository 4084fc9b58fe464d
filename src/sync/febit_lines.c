/* SPDX-License-Identifier: MIT */
/*
 * febit_lines.c - see febit_lines.h.
 *
 * A line holds 32 bits and a value has 64, so a word has two lines, each a token that one thread
 * has at a time: `full` is full while there is a value that nobody uses at the moment, `empty` is
 * empty while there is room for one. Who has taken a token reads or writes the value, and sets the
 * line of the word's new state:
 *
 *     write: take `empty`, write, set `full`        read: take `full`, read, set `full`
 *                                                   take: take `full`, read, set `empty`
 *
 * Invariants:
 *   1. At rest one of the two tokens is there. A thread that has taken one is inside the runtime
 *      (not preempted) until it has set a line, so others can wait for that by looking again.
 *   2. A thread that has a CPU and no deadline waits in the hardware, which wakes it when the line
 *      is set (core/line.h).
 *   3. All others wait in `queue`, which the hardware does not know. They count in queue.leaving
 *      before their last look at the line; who sets a line looks at queue.leaving after that, and
 *      wakes one of them, which tries again. The fences between both make one of them see the
 *      other. ORDER(line)
 * Locks: queue.lock (RANK_WAITQ).
 */
#include "febit_lines.h"

#if RT_HARDWARE
#include <errno.h>

#include "mutant.h"
#include "port_preempt.h"

void fe_lines_init(struct rt_fe *w)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    RT_ASSERT(((uintptr_t)&w->full & (_Alignof(struct port_line) - 1)) == 0);
    line_set(cpu, &w->full, false);
    line_set(cpu, &w->empty, false);
    rt_leave(irq);
}

/* The first waiter that needs the line of this state. */
static NOINLINE void fe_wake_queued(struct cpu *cpu, struct rt_fe *w, bool full)
{
    struct thread *t;
    state_lock(&w->queue.lock, RANK_WAITQ);
    if (full) {
        t = waitq_pop_kind_locked(&w->queue, FE_READ);
        t = t != NULL ? t : waitq_pop_kind_locked(&w->queue, FE_TAKE);
    } else {
        t = waitq_pop_kind_locked(&w->queue, FE_WRITE);
    }
    state_unlock(&w->queue.lock, RANK_WAITQ);
    if (t != NULL) {
        rt_wake(cpu, t, PIRN_WHY_WAKE);
    }
}

/* The caller gives its token back: the word is full, or empty. */
static void fe_release(struct cpu *cpu, struct rt_fe *w, bool full)
{
    line_set(cpu, full ? &w->full : &w->empty, full);
    at_fence_light(); /* ORDER(line) */
    if (unlikely(at_load_rlx(&w->queue.leaving) != 0) && !MUTANT(LINE_DEAF)) {
        fe_wake_queued(cpu, w, full);
    }
}

/* The caller waits in the queue, unless it gets the token meanwhile (true). */
static bool fe_wait_queued(struct rt_fe *w, enum fe_kind kind, uint64_t deadline, int *result)
{
    bool full = kind != FE_WRITE;
    state_lock(&w->queue.lock, RANK_WAITQ);
    at_add_acq_rel(&w->queue.leaving, 1u); /* ORDER(line) */
    at_fence_heavy();                      /* ORDER(line) */
    bool taken = line_take(full ? &w->full : &w->empty, full, false);
    if (taken) {
        state_unlock(&w->queue.lock, RANK_WAITQ);
    } else {
        struct waitq_options options = {.deadline = deadline,
                                        .object = w,
                                        .reason = full ? WAIT_FE_FULL : WAIT_FE_EMPTY,
                                        .kind = kind,
                                        .rank = RANK_WAITQ};
        *result = waitq_block_locked(&w->queue, &options);
    }
    at_sub_acq_rel(&w->queue.leaving, 1u); /* ORDER(line) */
    return taken;
}

/* Take the token that this access needs. Inside the runtime; irq: what rt_enter has stored. If the
 * hardware has no room for the thread, and its CPU no other one, it tries again and again: so
 * interrupts, which may wake the thread that sets the line, come in between. */
static int fe_acquire(struct rt_fe *w, enum fe_kind kind, uint64_t deadline, unsigned long irq)
{
    bool full = kind != FE_WRITE;
    struct port_line *line = full ? &w->full : &w->empty;
    bool kept = false;
    int result = 0;
    while (result == 0 && !line_take(line, full, kept)) {
        struct cpu *cpu = port_cpu_self();
        kept = false;
        if (cpu != NULL && deadline == UINT64_MAX) {
            kept = line_wait(cpu, line, full, full ? WAIT_FE_FULL : WAIT_FE_EMPTY, w);
            if (!kept) {
                port_irq_window(irq);
            }
        } else if (fe_wait_queued(w, kind, deadline, &result)) {
            break;
        }
    }
    return result;
}

int fe_lines_access(struct rt_fe *w, uint64_t *value, enum fe_kind kind, uint64_t deadline)
{
    unsigned long irq;
    rt_enter(&irq);
    int result = fe_acquire(w, kind, deadline, irq);
    if (result == 0) {
        if (kind == FE_WRITE) {
            w->value = *value;
        } else {
            *value = w->value;
        }
        fe_release(port_cpu_self(), w, kind != FE_TAKE);
    }
    rt_leave_woken(irq);
    return result;
}

void fe_lines_force(struct rt_fe *w, bool full, uint64_t value)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    while (!line_take(&w->full, true, false) && !line_take(&w->empty, false, false)) {
        rt_leave(irq); /* invariant 1, or a thread is on its way for which it is kept */
        if (!rt_yield()) {
            port_relax(1);
        }
        cpu = rt_enter(&irq);
    }
    if (full) {
        w->value = value;
    }
    fe_release(cpu, w, full);
    rt_leave_woken(irq);
}

bool fe_lines_full(const struct rt_fe *w)
{
    unsigned long irq;
    rt_enter(&irq);
    bool full = port_line_full(&w->full);
    rt_leave(irq);
    return full;
}
#endif
