/* SPDX-License-Identifier: MIT */
/*
 * line.h - waits for a line of memory that the hardware knows as full or empty (port_ready.h): the
 * second way to wait, beside waitq.h.
 *
 * A thread takes a line: it needs one state, and leaves the other. If it has to wait, the hardware
 * has it, and makes it ready when another thread sets the line; no list, no lock, and the other
 * thread does not look for it. Such a wait cannot end otherwise: a thread with a deadline, one that
 * may be cancelled, and one without a CPU wait in a wait queue (sync/febit_lines.c).
 *
 * Callers: objects of sync, where line_is_used().
 *
 * Invariants:
 *   1. The hardware gets a thread after its context is saved (POST_LINE, finish_line). If the
 *      hardware refuses it, the thread is made ready, and tries again.
 *   2. A thread that the hardware has woken is BLOCKED until a CPU takes it; line_arrived makes it
 *      READY. It is counted as ready by hardware_count from the moment in which the line was set.
 *   3. The line is kept for it, so its next line_take says so (`kept`), and succeeds unless
 *      somebody has set the line again.
 *   4. line_set wakes a CPU that sleeps if it has woken a thread: the waker's side of invariant 2
 *      of wake.h. ORDER(idle-wake)
 * Locks: none.
 */
#ifndef PIRN_CORE_LINE_H
#define PIRN_CORE_LINE_H

#include "cpu.h"
#include "hardware.h"
#include "mutant.h"
#include "runtime.h"
#include "wake.h"

#if RT_HARDWARE
/* Do threads wait in the hardware? The same from the start of the runtime on. */
ALWAYS_INLINE bool line_is_used(void)
{
    return rt.lines;
}

/* Inside the runtime. kept: this thread has waited for it, see line_wait. */
ALWAYS_INLINE bool line_take(struct port_line *l, bool full, bool kept)
{
    return port_line_take(l, full, kept && !MUTANT(LINE_UNKEPT)); /* ORDER(hw) */
}

/* Inside the runtime. cpu: the caller's, or NULL. */
ALWAYS_INLINE void line_set(struct cpu *cpu, struct port_line *l, bool full)
{
    if (port_line_set(l, full) && !MUTANT(LINE_QUIET)) { /* ORDER(hw) */
        rt_kick(cpu, (struct pirn_kick){.cpu = PIRN_KICK_ANY});
    }
}

/* The running thread waits until the line is full (empty), or a moment if the hardware has no room.
 * Inside the runtime; no locks. reason, object: for dumps. Returns `kept`, for line_take. */
bool line_wait(struct cpu *cpu, struct port_line *l, bool full, uint8_t reason, const void *object);

/* The post action: prev's context is saved. */
void finish_line(struct cpu *cpu, struct thread *prev, void *arg);

/* A CPU has got t from the hardware. */
ALWAYS_INLINE void line_arrived(struct cpu *cpu, struct thread *t);
ALWAYS_INLINE void line_arrived(struct cpu *cpu, struct thread *t)
{
    if (at_load_rlx(&t->state) == THREAD_BLOCKED) {
        thread_set_state(t, THREAD_READY);
        trace_wake(cpu, t, PIRN_WHY_WAKE);
        uint64_t ticket = ready_give(cpu, t);
        ready_given(cpu, ticket, (struct pirn_kick){.cpu = PIRN_KICK_ANY});
    }
}
#else
#define line_is_used() false

ALWAYS_INLINE void finish_line(struct cpu *cpu, struct thread *prev, void *arg)
{
    (void)cpu;
    (void)prev;
    (void)arg;
}
#endif

#endif
