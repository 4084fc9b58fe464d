/* SPDX-License-Identifier: MIT */
/*
 * stack.h - stacks with their thread descriptor, and their recycling.
 *
 * A descriptor lives in the top page of its stack, so that a blocked thread costs one page. Pairs
 * that are done go to a LIFO cache of the CPU, from there in batches to a global pool, and beyond
 * the reservoir's limit back to the port. Caches exist for a few stack sizes (classes); other sizes
 * always go to the port. There is a pool for each NUMA node (nodes.h): a pair goes back to the node
 * whose CPU has made it, because that node's memory has its pages.
 */
#ifndef PIRN_CORE_STACK_H
#define PIRN_CORE_STACK_H

#include "compiler.h"

struct cpu;
struct thread;

#define STACK_CLASSES 4
#define STACK_NO_CLASS 255u

/* thread.stack_class of a pair that is recycled: STACK_CLASSES times the node that has made it, and
 * its class. */
_Static_assert(STACK_CLASSES * 32u < STACK_NO_CLASS, "PORT_NODES_MAX");

#ifndef PIRN_WITHOUT_STACKS

struct stack_cache {
    struct thread *first; /* (O) linked through rq.next */
    unsigned count;       /* (O) */
};

/* The runtime starts, and knows the default size. */
void stack_begin(void);

/* A descriptor with a stack of at least `size` usable bytes; NULL without memory. cpu may be NULL
 * (foreign). With a guard of the thread's own the pair is never recycled. */
struct thread *stack_get_slow(struct cpu *cpu, size_t size);
struct thread *stack_get_guarded(struct cpu *cpu, size_t size, size_t guard);

/* Give the pair back. No thread runs on it. stack_put (stack_cache.h) keeps it in the CPU's cache
 * if it can. */
void stack_put_slow(struct cpu *cpu, struct thread *t);

/* Memory is short: what is cached goes back to the port; other CPUs are asked to do the same with
 * theirs, at their next pick (stack_free_cached). Some have not yet? */
void stack_reclaim(void);
bool stack_reclaiming(void);
void stack_free_cached(struct cpu *cpu);

/* How large t's stack is: as was asked for, where that is known. Any context. */
size_t stack_asked(const struct thread *t);

/* Pairs in all caches; exact when nothing moves. */
unsigned stack_cached(void);

/* Give everything cached back to the port (end of the simulator's run). */
void stack_drain_all(void);

/* Forget what is cached (the child of a fork), or gone already (end of a failed simulator run). */
void stack_forget_all(void);

#else

/* All stacks and descriptors are the program's. */
size_t stack_asked(const struct thread *t);
ALWAYS_INLINE void stack_begin(void) {}
ALWAYS_INLINE void stack_forget_all(void) {}
ALWAYS_INLINE void stack_free_cached(struct cpu *cpu)
{
    (void)cpu;
}

#endif

#endif
