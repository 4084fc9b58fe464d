/* SPDX-License-Identifier: MIT */
/*
 * mark.c - how much of its stack a thread has used at most (option stackfill). A stack is filled
 * with a pattern before its thread's life begins; the lowest changed word is the mark. A frame that
 * does not write its lowest words counts as smaller. This concerns stacks of the runtime and of the
 * program, but not the main thread's, which existed before.
 */
#include "mark.h"

#include "runtime.h"

#define PATTERN 0x7a11f111u
/* Ports have a word of their own at the lowest end. */
#define SKIPPED 16u

static uint32_t *lowest(const struct thread *t)
{
    return (uint32_t *)(((uintptr_t)t->stack.low + SKIPPED + 3) & ~(uintptr_t)3);
}

NO_TSAN __attribute__((no_sanitize("address"))) void stack_fill(struct thread *t)
{
    for (uint32_t *at = lowest(t); at < (uint32_t *)t->stack_top; at++) {
        *at = PATTERN;
    }
}

/* The thread itself may be using it meanwhile. */
NO_TSAN __attribute__((no_sanitize("address"))) size_t stack_used(const struct thread *t)
{
    if (!rt.stack_fill || t->stack.low == NULL || (t->flags & (THREAD_MAIN | THREAD_IDLE))) {
        return 0;
    }
    const volatile uint32_t *at = lowest(t), *top = t->stack_top;
    while (at < top && *at == PATTERN) {
        at++;
    }
    return (size_t)((uintptr_t)top - (uintptr_t)at);
}

void stack_note(struct cpu *cpu, const struct thread *t)
{
    size_t used = stack_used(t);
    if (used > cpu->most.used) {
        cpu->most.used = used;
        cpu->most.size = (size_t)((uintptr_t)t->stack_top - (uintptr_t)t->stack.low);
        for (unsigned i = 0; i < RT_NAME_MAX; i++) {
            cpu->most.name[i] = t->name[i];
        }
    }
}

const struct stack_most *stack_most(void)
{
    const struct stack_most *most = &rt.cpus[0]->most;
    for (unsigned i = 1; i < rt.ncpu; i++) {
        most = rt.cpus[i]->most.used > most->used ? &rt.cpus[i]->most : most;
    }
    return rt.stack_fill && most->used != 0 ? most : NULL;
}
