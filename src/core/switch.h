/* SPDX-License-Identifier: MIT */
/*
 * switch.h - the one way to switch.
 *
 * switch_to saves the running thread and continues with `next`. finish_switch performs the post
 * action of the thread that stopped, on next's stack, when its context is saved; so nobody can
 * resume a thread that still runs. Invariants:
 *   1. Post action, its argument and the CPU travel in registers (struct port_note), from switch_to
 *      to the finish_switch of the next thread, on the same CPU, with interrupts disabled.
 *   2. After switch_to returns, the thread may be on another CPU: every CPU pointer read before is
 *      void.
 */
#ifndef PIRN_CORE_SWITCH_H
#define PIRN_CORE_SWITCH_H

#include <inttypes.h>

#include "../trace/trace.h"
#include "cpu.h"
#include "handed.h"
#include "held.h"
#include "port_tools.h"

void finish_exit(struct cpu *cpu, struct thread *prev, struct thread *joiner);
void finish_park(struct cpu *cpu, struct thread *prev, struct held_lock held);
void finish_other(struct cpu *cpu, struct thread *prev, enum post_action post, void *arg);

#ifdef PIRN_DEBUG
/* The oracles: nobody resumes a thread whose context is not saved (invariant 2 of thread.h); a CPU
 * is executed by its carrier only, and on a stack that may be left. */
ALWAYS_INLINE void switch_check(struct cpu *cpu, struct thread *prev, struct thread *next)
{
    const char *why = port_switch_refused(cpu);
    if (why != NULL) {
        RT_PANIC("CPU %" PRIu32 " switches from thread %" PRIu32 " %s: %s", cpu->id, prev->index,
                 prev->name, why);
    }
    if (next->on_cpu) {
        RT_PANIC("thread %" PRIu32 " %s is resumed before its context is saved", next->index,
                 next->name);
    }
    prev->on_cpu = true;
}
ALWAYS_INLINE void switch_check_saved(struct thread *prev)
{
    prev->on_cpu = false;
}
#else
ALWAYS_INLINE void switch_check(struct cpu *cpu, struct thread *prev, struct thread *next)
{
    (void)cpu;
    (void)prev;
    (void)next;
}
ALWAYS_INLINE void switch_check_saved(struct thread *prev)
{
    (void)prev;
}
#endif

ALWAYS_INLINE void finish_switch(struct port_note note)
{
    struct thread *prev = CONTAINER_OF(note.from, struct thread, ctx);
    RT_ASSERT(note.cpu == port_cpu_self());
    switch_check_saved(prev);
    if (likely(note.post == POST_UNLOCK)) {
        held_release(held_of_post(note.arg));
    } else if (note.post == POST_EXIT) {
        finish_exit(note.cpu, prev, note.arg);
    } else if (RT_SPEED && WAITQ_MAY_END && note.post == POST_PARK) {
        finish_park(note.cpu, prev, held_of_post(note.arg));
    } else if (note.post != POST_NONE) {
        finish_other(note.cpu, prev, (enum post_action)note.post, note.arg);
    }
}

/* switch_to for a caller that knows the running thread: `prev`. */
SHARED_INLINE void switch_from(struct cpu *cpu, struct thread *prev, struct thread *next,
                               enum post_action post, void *arg);
SHARED_INLINE void switch_from(struct cpu *cpu, struct thread *prev, struct thread *next,
                               enum post_action post, void *arg)
{
    RT_ASSERT(prev == cpu->current);
    switch_check(cpu, prev, next);
    ready_run(cpu, next);
    cpu->current = next;
    if (unlikely(next->cpu != cpu)) {
        trace_migrate(cpu, prev, next);
        next->cpu = cpu;
        STAT_INC(&cpu->stats.migrations);
    }
    thread_set_state(next, THREAD_RUNNING);
    CPU_COUNT_SWITCH(cpu);
    trace_switch(cpu, prev, post);
    port_thread_switch(cpu, prev, next);
    port_san_switch(prev, next, post == POST_EXIT);
    struct port_note note = {.cpu = cpu, .arg = arg, .post = post};
    note = port_ctx_switch(&prev->ctx, &next->ctx, note);
    port_san_switched(prev);
    finish_switch(note);
}

ALWAYS_INLINE void switch_to(struct cpu *cpu, struct thread *next, enum post_action post, void *arg)
{
    switch_from(cpu, cpu->current, next, post, arg);
}

#endif
