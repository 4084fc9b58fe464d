/* SPDX-License-Identifier: MIT */
/*
 * stack_cache.h - a pair of stack and descriptor goes back to the CPU's cache: the inline part of
 * stack.h.
 *
 * Caller: thread_release (thread_memory.h), when a thread ends or its joiner frees it, inside the
 * runtime. Invariants:
 *   1. Only the CPU itself touches its cache (O), so there is no lock.
 *   2. A cache holds at most rt.stack_cache_limit pairs of a class; stack_put_slow moves a batch to
 *      the pool (RANK_STACK) when it is full, and takes what no cache takes.
 */
#ifndef PIRN_CORE_STACK_CACHE_H
#define PIRN_CORE_STACK_CACHE_H

#include "cpu.h"
#include "runtime.h"
#include "stack.h"

#ifndef PIRN_WITHOUT_STACKS
/* The first of the values of thread.stack_class that pairs of the CPU's node have. */
#if PORT_NODES
ALWAYS_INLINE unsigned stack_classes_of(const struct cpu *cpu)
{
    return cpu->stack_classes[0];
}
#else
ALWAYS_INLINE unsigned stack_classes_of(const struct cpu *cpu)
{
    (void)cpu;
    return 0;
}
#endif

ALWAYS_INLINE void stack_put(struct cpu *cpu, struct thread *t)
{
    unsigned class = t->stack_class - (likely(cpu != NULL) ? stack_classes_of(cpu) : 0);
    if (unlikely(cpu == NULL || class >= STACK_CLASSES ||
                 cpu->stacks[class].count >= rt.stack_cache_limit)) {
        stack_put_slow(cpu, t);
        return;
    }
    t->rq.next = (struct list *)cpu->stacks[class].first;
    cpu->stacks[class].first = t;
    cpu->stacks[class].count++;
}
#else
ALWAYS_INLINE void stack_put(struct cpu *cpu, struct thread *t)
{
    (void)cpu;
    (void)t;
}
#endif

#endif
