/* SPDX-License-Identifier: MIT */
/*
 * idle.h - the steps of a CPU that has nothing to run, from run.c, for a CPU that sleeps in a call
 * of its thread's (call_sleep.c).
 */
#ifndef PIRN_CORE_IDLE_H
#define PIRN_CORE_IDLE_H

#include "cpu.h"

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

#endif
