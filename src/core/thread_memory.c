/* SPDX-License-Identifier: MIT */
/*
 * thread_memory.c - memory of threads that the caller gives or asks to be of a size: the long ways
 * of thread_memory.h, which has callers and invariants.
 *
 * The layout of a stack that carries its descriptor, from above: thread-local storage (rt.tls_room
 * bytes), descriptor, stack. A descriptor in the caller's storage (THREAD_STATIC) leaves the stack
 * that much more room.
 */
#include "thread_memory.h"

#include "id.h"
#include "port_tls.h"
#include "port_tools.h"

#ifndef PIRN_WITHOUT_STACKS
static struct thread *thread_get_sized(struct cpu *cpu, const struct thread_attr *attr, size_t size)
{
    return attr->flags & THREAD_CREATE_GUARD ? stack_get_guarded(cpu, size, attr->guard)
                                             : stack_get_slow(cpu, size);
}
#else
static struct thread *thread_get_sized(struct cpu *cpu, const struct thread_attr *attr, size_t size)
{
    (void)attr;
    (void)size;
    return thread_get_default(cpu);
}
#endif

static void stack_give_back(struct port_stack *stack, uint32_t flags)
{
    if (!RT_STACKS || (flags & THREAD_OWN_STACK)) {
        port_stack_end(stack);
    } else {
        port_stack_free(stack);
    }
}

int thread_get_given(struct cpu *cpu, const struct thread_attr *attr, struct thread **out)
{
    size_t size = attr->stack_size != 0 ? attr->stack_size : rt.stack_size;
    if (attr->stack != NULL && size < rt_stack_min_given()) {
        return -EINVAL;
    }
    size = size < rt.stack_min && attr->stack == NULL ? rt.stack_min : size;
    size_t guard = attr->flags & THREAD_CREATE_GUARD ? attr->guard : RT_GUARD_DEFAULT;
    if (attr->storage == NULL && attr->stack == NULL) {
        *out = thread_get_sized(cpu, attr, size);
        return *out != NULL ? 0 : -EAGAIN;
    }
    struct port_stack stack = {.low = attr->stack, .size = size};
    uint32_t flags = attr->stack != NULL ? THREAD_OWN_STACK : 0;
    struct thread *t = attr->storage;
    if (stack.low == NULL) {
        if (!RT_STACKS || port_stack_alloc(&stack, size + rt.tls_room, guard) != 0) {
            return -EAGAIN;
        }
    }
    char *top = (char *)stack.low + stack.size - rt.tls_room;
    if (t != NULL) {
        flags |= THREAD_STATIC;
    } else {
        t = (struct thread *)((uintptr_t)(top - sizeof(struct thread)) &
                              ~(uintptr_t)(RT_CACHELINE - 1));
        top = (char *)t;
    }
    if (flags & THREAD_OWN_STACK) {
        port_stack_begin(&stack);
    }
    thread_init_bare(t, flags, "");
    t->stack = stack;
    t->stack_top = top;
    if (id_assign(t) != 0) {
        stack_give_back(&stack, flags);
        return -EAGAIN;
    }
    *out = t;
    return 0;
}

int thread_get_tls(struct thread *t)
{
    if (port_tls_alloc(t, t->stack_top == t ? (char *)(t + 1) : t->stack_top) != 0) {
        return -EAGAIN;
    }
    t->flags |= THREAD_TLS;
    return 0;
}

void thread_release_given(struct thread *t)
{
    if (t->flags & THREAD_MAIN) {
        return;
    }
    struct port_stack stack = t->stack;
    uint32_t flags = t->flags;
    thread_fini_bare(t);
    stack_give_back(&stack, flags);
}
