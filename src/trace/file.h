/* SPDX-License-Identifier: MIT */
/*
 * file.h - the rings of the current trace, for hooks.c.
 */
#ifndef PIRN_TRACE_FILE_H
#define PIRN_TRACE_FILE_H

#include "ring.h"

/* Numbers of the table "switch". */
enum trace_switch_why {
    TRACE_SWITCH_IDLE,    /* the idle thread has found a thread to run */
    TRACE_SWITCH_YIELD,   /* the thread yields */
    TRACE_SWITCH_PREEMPT, /* the thread must make room */
    TRACE_SWITCH_BLOCK,   /* the thread waits */
    TRACE_SWITCH_EXIT,    /* the thread has ended */
    TRACE_SWITCH_CALL,    /* the thread has returned from a call without a CPU */
};

/* Indexed by the number of the CPU. */
HIDDEN extern struct trace_writer trace_writers[];

/* The ANY ring of a CPU. RT_NO_CPU: that of kernel threads that execute none. */
struct trace_places *trace_places_of(uint32_t cpu);

/* A further hook: a thread that exists when the trace begins. */
void trace_thread_on(const struct cpu *cpu, const struct thread *t, unsigned state);

#endif
