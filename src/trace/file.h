/* SPDX-License-Identifier: MIT */
/*
 * file.h - the rings of the trace that is being made, for hooks.c.
 */
#ifndef PIRN_TRACE_FILE_H
#define PIRN_TRACE_FILE_H

#include "ring.h"

/* Numbers of the table "switch". */
enum trace_switch_why {
    TRACE_SWITCH_IDLE,    /* the idle thread has found something to run */
    TRACE_SWITCH_YIELD,   /* the thread yields */
    TRACE_SWITCH_PREEMPT, /* the thread has to make room */
    TRACE_SWITCH_BLOCK,   /* the thread waits */
    TRACE_SWITCH_EXIT,    /* the thread has ended */
    TRACE_SWITCH_CALL,    /* the thread is back from a call, without a CPU */
};

/* By number of the CPU. */
HIDDEN extern struct trace_writer trace_writers[];

/* RT_NO_CPU: those of kernel threads that execute none. */
struct trace_places *trace_places_of(uint32_t cpu);

/* A hook, too: a thread that is there when the trace begins. */
void trace_thread_on(const struct cpu *cpu, const struct thread *t, unsigned state);

#endif
