/* SPDX-License-Identifier: MIT */
/*
 * idle.h - the steps of a CPU that has nothing to run, from run.c, for a CPU that sleeps in a call
 * of its thread's (call_sleep.c). Where there are no such calls they are run.c's alone.
 */
#ifndef PIRN_CORE_IDLE_H
#define PIRN_CORE_IDLE_H

#include "cpu.h"

#if PORT_CALLS_BLOCK
#define IDLE_STEP

/* The CPU's idle time begins, ends. */
void idle_time_begin(struct cpu *cpu, uint64_t now);
void idle_time_end(struct cpu *cpu, uint64_t now);

/* The CPU says that it sleeps; it looks for work once more afterwards. searching: it counted as
 * searching until now. */
void idle_announce(struct cpu *cpu, bool searching);

/* The CPU, which counted as searching, has a thread: invariant 3 of wake.h. */
void idle_found(struct cpu *cpu);

/* The next deadline of the CPU, which is going to run a thread, goes to the port: timer.h. */
void timers_tell(struct cpu *cpu);

/* The CPU has slept in a call, and its carrier takes it now. */
ALWAYS_INLINE bool idle_slept(struct cpu *cpu)
{
    bool slept = *cpu->slept;
    *cpu->slept = false;
    return slept;
}
#else
#define IDLE_STEP static

ALWAYS_INLINE bool idle_slept(struct cpu *cpu)
{
    (void)cpu;
    return false;
}
#endif

#endif
