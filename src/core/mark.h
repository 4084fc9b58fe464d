/* SPDX-License-Identifier: MIT */
/*
 * mark.h - how much of its stack a thread has used at most: option stackfill. Off, it costs a test
 * when a thread begins and when it ends.
 */
#ifndef PIRN_CORE_MARK_H
#define PIRN_CORE_MARK_H

#include "cpu.h"

/* Of all CPUs, of threads that have ended; NULL: not known. */
#ifdef PIRN_WITHOUT_MARKS
#define stack_most() NULL
#else
const struct stack_most *stack_most(void);
#endif

/* Fill the stack of t, whose life is about to begin. */
void stack_fill(struct thread *t);

/* Bytes; 0: not known. t lives, or has not been released. */
size_t stack_used(const struct thread *t);

/* t ends, on this CPU: is it the one that has used most? */
void stack_note(struct cpu *cpu, const struct thread *t);

#endif
