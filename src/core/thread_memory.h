/* SPDX-License-Identifier: MIT */
/*
 * thread_memory.h - where a thread's descriptor and stack come from, and where they go: the short
 * ways, inline.
 *
 * Callers: thread_create.c takes; thread_exit.c (a detached thread), thread_join.c (joined, or
 * detached late) and thread_create.c (a thread that cannot begin) give back. All inside the
 * runtime.
 *
 * Invariants:
 *   1. A descriptor that thread_get returns is EXITED, has an id and a stack, and nobody else
 *      refers to it.
 *   2. thread_release is called once for each life, when nobody refers to the thread any more
 *      (thread_exit.c, invariant 3). Afterwards the memory may belong to another life.
 *   3. A pair of stack and descriptor that the runtime has made returns to the caches of stack.h;
 *      memory that the caller has given, and the main thread's, is never recycled.
 * Locks: none here; those of stack.c and id.c inside.
 */
#ifndef PIRN_CORE_THREAD_MEMORY_H
#define PIRN_CORE_THREAD_MEMORY_H

#include <errno.h>

#include "stack_cache.h"

/* The caller has given the stack or the descriptor, or asks for a size or a guard. 0, -EINVAL (the
 * stack is too small), -EAGAIN. */
int thread_get_given(struct cpu *cpu, const struct thread_attr *attr, struct thread **out);
COLD void thread_release_given(struct thread *t);

/* A thread without a TLS block gets one. Outside the runtime: it may allocate and block. 0 or
 * -EAGAIN. */
COLD int thread_get_tls(struct thread *t);

#ifndef PIRN_WITHOUT_STACKS
ALWAYS_INLINE struct thread *thread_get_default(struct cpu *cpu)
{
    if (likely(cpu != NULL)) {
        struct thread *t = cpu->stacks[0].first;
        if (likely(t != NULL)) {
            cpu->stacks[0].first = (struct thread *)t->rq.next;
            cpu->stacks[0].count--;
            STAT_INC(&cpu->stats.stacks_recycled);
            return t;
        }
    }
    return stack_get_slow(cpu, rt.stack_size);
}
#else
ALWAYS_INLINE struct thread *thread_get_default(struct cpu *cpu)
{
    (void)cpu;
    return NULL;
}
#endif

ALWAYS_INLINE int thread_get(struct cpu *cpu, const struct thread_attr *attr, struct thread **out)
{
    if (likely(attr == NULL || (attr->stack == NULL && attr->storage == NULL &&
                                attr->stack_size == 0 && !(attr->flags & THREAD_CREATE_GUARD)))) {
        *out = thread_get_default(cpu);
        return likely(*out != NULL) ? 0 : -EAGAIN;
    }
    return thread_get_given(cpu, attr, out);
}

/* Give memory back. No reference to t is left. */
ALWAYS_INLINE void thread_release(struct cpu *cpu, struct thread *t)
{
    if (likely(!(t->flags & (THREAD_STATIC | THREAD_OWN_STACK | THREAD_MAIN | THREAD_FOREIGN)))) {
        stack_put(cpu, t);
    } else {
        thread_release_given(t);
    }
}

#endif
