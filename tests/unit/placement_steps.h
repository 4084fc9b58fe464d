/* SPDX-License-Identifier: MIT */
/*
 * placement_steps.h - steps of tests of task affinity: four CPUs, and threads that wake, run and
 * block on them. The operations of a decorated policy are called as CPUs would, one at a time.
 */
#ifndef PIRN_TESTS_PLACEMENT_STEPS_H
#define PIRN_TESTS_PLACEMENT_STEPS_H

#include "../../src/sched/affinity_queue.h"

enum { CPUS = 4 };

extern struct cpu cpus[CPUS];
extern struct pirn_policy table;
extern const struct pirn_policy *const policy; /* that table */

/* Does what was asked for hold? If not, the program says `what`, and fails. */
void expect(bool good, const char *what);

/* Another situation: no threads, all CPUs without work. */
void begin(const char *what);

/* A thread that blocks. priority 0: of class OTHER; else SCHED_FIFO, if there are classes. */
struct thread *fresh(unsigned priority);

/* The same; under a pinned policy it belongs to that CPU. */
struct thread *fresh_for(unsigned id, unsigned priority);

void depends(struct thread *consumer, struct thread *producer);

/* t becomes ready: `by` wakes it (-1: a foreign thread does). The kick. */
int wakes(int by, struct thread *t);

/* The next calls come from CPU `id`, as the caller; -1, and at first: from a foreign thread. */
void calls_from(int id);

/* CPU `id` leaves what it runs, which blocks, and takes the next thread; NULL: it has none. */
struct thread *next(unsigned id);

/* t runs on CPU `id` from now on, with whatever rule: as the CPU's last thread it is a producer. */
void runs(unsigned id, struct thread *t);

/* Consumers that wait for CPU `id`. */
unsigned waiting(unsigned id);

/* All tests, for each policy, discipline and rule. Arguments: none, or a fault to be planted. The
 * exit status. */
int steps_main(int argc, char **argv, const char *name, void (*tests)(void));

#endif
