/* SPDX-License-Identifier: MIT */
/*
 * thread_create.c - creating a thread.
 *
 * Callers: the native API and the POSIX layer, in user threads and foreign kernel threads, outside
 * the runtime.
 *
 * Invariants:
 *   1. Until rt_ready the thread is its creator's: nothing refers to it, it is in no queue. From
 *      then on it may run, and end, on another CPU.
 *   2. *out is stored before that, so that the thread's own code may look there.
 *   3. Where creating fails, memory is given back as if the thread had ended (EXITED), and no
 *      counter has counted it (life_created).
 *   4. Two cases are compiled for themselves: without attributes, by a creator of the default class
 *      (the native API's), and with nothing but flags and a handle (the POSIX layer's). All others
 *      share thread_create_with.
 * Locks: none here; those of the policy (rt_ready) and of stack.c inside.
 */
#include "../trace/trace.h"
#include "life.h"
#include "mark.h"
#include "port_affinity.h"
#include "port_signals.h"
#include "port_tls.h"
#include "port_tools.h"
#include "producers.h"
#include "thread_memory.h"
#include "wake.h"

/* Begin a new life of a descriptor that is EXITED. What attributes say is left to thread_apply. */
ALWAYS_INLINE void thread_begin(struct thread *t, void *(*start)(void *), void *arg)
{
    thread_set_state(t, THREAD_NEW);
    t->generation++;
    t->start = start;
    t->arg_ret = arg;
    t->rq.next = NULL;
    t->local = NULL;
    thread_signals_begin(t);
    at_init(&t->cancel, 0u);
    at_init(&t->join.lock.word, 0u);
    uintptr_t top = (uintptr_t)t->stack_top;
    if (RT_MARKS && unlikely(rt.stack_fill)) {
        stack_fill(t);
    }
    port_ctx_init(&t->ctx, t->stack.low, top - (uintptr_t)t->stack.low, thread_entry);
    port_san_create(t, top);
}

#define THREAD_CARRIES ((uint32_t)(THREAD_CXX | THREAD_FP))

/* No attributes. */
ALWAYS_INLINE void thread_apply_none(struct thread *t)
{
    t->join_flags = 0;
    t->name[0] = '\0';
    t->flags &= ~THREAD_CARRIES;
    at_init(&t->priority, 0u);
    at_init(&t->base_priority, 0u);
    at_init(&t->sched.attr, 0u);
}

/* Of a foreign creator: its stand-in has a name of ours. */
static COLD void thread_name_foreign(struct thread *t)
{
    thread_set_name(t, rt_personality.main_name());
}

ALWAYS_INLINE void thread_apply(struct thread *t, const struct thread_attr *attr,
                                const struct thread *creator)
{
    t->join_flags = (attr->flags & THREAD_CREATE_DETACHED) ? JOIN_DETACHED : 0;
    t->flags = (t->flags & ~THREAD_CARRIES) | (attr->flags & THREAD_CARRIES);
    if (attr->flags & THREAD_FP) {
        port_thread_inherit(t);
    }
    if (attr->cpus != NULL) {
        port_thread_cpus(t, attr->cpus);
    }
    if (attr->name != NULL) {
        thread_set_name(t, attr->name);
    } else if (attr->flags & THREAD_CREATE_NAMED) {
        memcpy(t->name, creator->name, RT_NAME_MAX);
        if (unlikely(creator->flags & THREAD_FOREIGN)) {
            thread_name_foreign(t);
        }
    } else {
        t->name[0] = '\0';
    }
    if (attr->handle != NULL) {
        *attr->handle = port_thread_handle(t);
    }
    if (attr->explicit_sched) {
        at_init(&t->priority, attr->sched.priority);
        at_init(&t->base_priority, attr->sched.priority);
        at_init(&t->sched.attr, sched_attr_of(&attr->sched));
    }
}

/* Class, priority and weight are those of the creator. A priority that the creator inherits at the
 * moment is not passed on. */
ALWAYS_INLINE void thread_inherit(struct thread *t, const struct thread *creator)
{
    uint32_t base = at_load_rlx(&creator->base_priority);
    at_init(&t->priority, base);
    at_init(&t->base_priority, base);
    at_init(&t->sched.attr, at_load_rlx(&creator->sched.attr) & ~SCHED_TO_TAIL);
}

/* It does not live yet. */
static NOINLINE void thread_bind(struct thread *t, uint32_t bind)
{
    if (bind == THREAD_UNBOUND) {
        sched_bind(t, -1);
    } else {
        sched_bind(t, (int)bind - 1);
        t->cpu = rt.cpus[bind - 1];
    }
}

/* Inside the runtime, which it leaves. plain: attributes do not say where its memory comes from. */
ALWAYS_INLINE int thread_create(bool plain, struct cpu *cpu, unsigned long irq, struct thread **out,
                                const struct thread_attr *attr, struct thread *creator,
                                void *(*start)(void *), void *arg)
{
    struct thread *t;
    port_stack_check();
    int error = thread_get(cpu, plain ? NULL : attr, &t);
    if (unlikely(error != 0)) {
        rt_leave(irq);
        return error;
    }
    if (unlikely(rt.tls_room != 0 && !(t->flags & THREAD_TLS))) {
        rt_leave(irq);
        error = thread_get_tls(t);
        rt_self(); /* it may have lost its CPU there */
        cpu = rt_enter(&irq);
        if (error != 0) {
            thread_release(cpu, t);
            rt_leave(irq);
            return error;
        }
    }
    thread_begin(t, start, arg);
    thread_mask_inherit(t, attr != NULL ? attr->sigmask : NULL, creator);
    if (attr != NULL) {
        thread_inherit(t, creator);
        thread_apply(t, attr, creator);
    } else {
        thread_apply_none(t);
    }
    t->cpu = cpu;
    if (POLICY_HAS(thread_init) &&
        (error = RT_POLICY.thread_init(t, likely(cpu != NULL) ? creator : NULL)) != 0) {
        at_store_rlx(&t->state, (uint32_t)THREAD_EXITED);
        thread_release(cpu, t);
        rt_leave(irq);
        return error;
    }
    if (RT_BINDS && attr != NULL && attr->bind != 0) {
        thread_bind(t, attr->bind);
    }
    if (attr != NULL && attr->name != NULL) {
        producers_named(t);
    }
    *out = t;
    life_created(cpu);
    trace_spawn(cpu, t);
    rt_ready(cpu, t, PIRN_WHY_SPAWN);
    if (attr == NULL) {
        rt_leave(irq); /* it is no more urgent than its creator */
    } else {
        rt_leave_woken(irq);
    }
    return 0;
}

static NOINLINE int thread_create_with(struct thread **out, const struct thread_attr *attr,
                                       void *(*start)(void *), void *arg)
{
    static const struct thread_attr none;
    unsigned long irq;
    struct thread *creator = rt_self();
    struct cpu *cpu = rt_enter(&irq);
    attr = !RT_STACKS || attr != NULL ? attr : &none;
    return thread_create(false, cpu, irq, out, attr, creator, start, arg);
}

/* There is no memory for another stack. Before this is an error, CPUs give back their cached
 * stacks, and ready threads get the chance to end. This takes RT_NEED_NS at most: a CPU gives back
 * its stacks only when it picks. */
#ifndef PIRN_WITHOUT_STACKS
static COLD NOINLINE int thread_create_in_need(struct thread **out, const struct thread_attr *attr,
                                               void *(*start)(void *), void *arg)
{
    uint64_t limit = port_now() + RT_NEED_NS;
    stack_reclaim();
    for (;;) {
        bool later = stack_reclaiming() && port_now() < limit;
        rt_yield();
        int error = thread_create_with(out, attr, start, arg);
        if (error != -EAGAIN || !later) {
            return error;
        }
        port_relax(UINT32_MAX);
    }
}
#else
#define thread_create_in_need(out, attr, start, arg) (-EAGAIN)
#endif

/* Its attributes are in memory only here. */
static NOINLINE int thread_create_plain_slow(struct thread **out, uint32_t flags, void **handle,
                                             void *(*start)(void *), void *arg)
{
    const struct thread_attr attr = {.flags = flags, .handle = handle};
    return rt_thread_create(out, &attr, start, arg);
}

int rt_thread_create_plain(struct thread **out, uint32_t flags, void **handle,
                           void *(*start)(void *), void *arg)
{
    RT_ASSERT(!(flags & THREAD_CREATE_GUARD));
    if (RT_SPEED) {
        const struct thread_attr attr = {.flags = flags, .handle = handle};
        unsigned long irq;
        struct cpu *cpu = rt_enter(&irq);
        if (unlikely(cpu == NULL)) {
            rt_leave(irq);
        } else {
            int error = thread_create(true, cpu, irq, out, &attr, cpu->current, start, arg);
            if (likely(!RT_STACKS || error != -EAGAIN)) {
                return error;
            }
        }
    }
    return thread_create_plain_slow(out, flags, handle, start, arg);
}

/* The ordinary case is compiled for itself: no attributes, and none to inherit. */
int rt_thread_create(struct thread **out, const struct thread_attr *attr, void *(*start)(void *),
                     void *arg)
{
    int error;
    unsigned long irq;
    if (attr != NULL) {
        error = thread_create_with(out, attr, start, arg);
    } else if (!RT_STACKS) {
        return -EAGAIN; /* without attributes there is no memory for it */
    } else {
        struct cpu *cpu = rt_enter(&irq);
        if (likely(cpu != NULL && !at_is_set_rlx(&cpu->current->sched.attr))) {
            error = thread_create(true, cpu, irq, out, NULL, cpu->current, start, arg);
        } else {
            rt_leave(irq);
            error = thread_create_with(out, NULL, start, arg);
        }
    }
    return likely(!RT_STACKS || error != -EAGAIN) ? error
                                                  : thread_create_in_need(out, attr, start, arg);
}
