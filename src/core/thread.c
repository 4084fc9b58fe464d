/* SPDX-License-Identifier: MIT */
/*
 * thread.c - creating, joining, detaching, ending. Called by the native API and by the POSIX layer.
 *
 * Length: creating, ending and joining are chains of inlined steps, which have to be in one file.
 *
 * Exit and join meet at the join lock (t->join.lock):
 *   1. The exiting thread takes it, sets JOIN_DONE, unlinks the joiner, and gives it back in
 *      finish_exit, when its stack is left. Then it stores EXITED (release): the last access to its
 *      memory.
 *   2. Who finds JOIN_DONE under the lock waits for EXITED, a few instructions away, before it
 *      touches anything.
 *   3. Only one party frees the memory: the joiner, the detacher that came late, or finish_exit for
 *      a thread that was detached before JOIN_DONE. join_flags, guarded by the lock, says which.
 *   4. The joiner is made ready after EXITED is stored, never before: it frees the stack.
 */
#include <errno.h>
#include <string.h>

#include "../trace/trace.h"
#include "block.h"
#include "cancel.h"
#include "id.h"
#include "life.h"
#include "mark.h"
#include "mutant.h"
#include "objects.h"
#include "port_affinity.h"
#include "port_signals.h"
#include "port_tls.h"
#include "port_tools.h"
#include "runtime.h"
#include "stack_cache.h"
#include "wake.h"

static const char *const state_names[] = {"new", "ready", "running", "blocked", "exited"};

const char *thread_state_name(uint32_t state)
{
    return state < ARRAY_SIZE(state_names) ? state_names[state] : "corrupt";
}

void thread_bad_transition(const struct thread *t, uint32_t to)
{
    RT_PANIC("thread %s: state %s cannot become %s", t->name,
             thread_state_name(at_load_rlx(&t->state)), thread_state_name(to));
}

#ifdef PIRN_DEBUG
bool thread_may_change(uint32_t from, uint32_t to)
{
    static const uint8_t allowed[] = {
        [THREAD_NEW] = 1 << THREAD_READY | 1 << THREAD_RUNNING,
        [THREAD_READY] = 1 << THREAD_RUNNING,
        [THREAD_RUNNING] = 1 << THREAD_READY | 1 << THREAD_BLOCKED | 1 << THREAD_EXITED,
        [THREAD_BLOCKED] = 1 << THREAD_READY,
        [THREAD_EXITED] = 1 << THREAD_NEW,
    };
    return from < ARRAY_SIZE(allowed) && (allowed[from] & 1u << to) != 0;
}
#endif

void thread_init_bare(struct thread *t, uint32_t flags, const char *name)
{
    memset((void *)t, 0, sizeof(*t));
    at_init(&t->state, (uint32_t)THREAD_EXITED);
    at_init(&t->park, (uint32_t)PARK_NONE);
    at_init(&t->cancel, 0u);
    at_init(&t->join.lock.word, 0u);
    at_init(&t->priority, 0u);
    at_init(&t->base_priority, 0u);
    at_init(&t->sched.attr, 0u);
    t->flags = flags;
    memset(&t->prof, 0, sizeof(t->prof));
    t->stack_class = STACK_NO_CLASS;
    thread_set_name(t, name);
}

void thread_fini_bare(struct thread *t)
{
    if (t->flags & THREAD_TLS && !(t->flags & THREAD_FOREIGN)) {
        port_tls_free(t);
    }
    id_release(t);
}

void thread_set_name(struct thread *t, const char *name)
{
    size_t n = strnlen(name, RT_NAME_MAX - 1);
    memcpy(t->name, name, n);
    memset(t->name + n, 0, RT_NAME_MAX - n);
}

void rt_thread_rename(struct thread *t, const char *name)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    thread_set_name(t, name);
    trace_name(cpu, t);
    prof_rename(t);
    rt_leave(irq);
}

static port_ctx_entry_t thread_entry NORETURN;

/* Begin a new life of a descriptor that is EXITED. */
ALWAYS_INLINE void thread_begin(struct thread *t, void *(*start)(void *), void *arg)
{
    thread_set_state(t, THREAD_NEW);
    t->generation++;
    t->start = start;
    t->arg_ret = arg;
    t->join_flags = 0;
    t->rq.next = NULL;
    t->name[0] = '\0';
    t->local = NULL;
    t->signals = NULL;
    at_init(&t->cancel, 0u);
    at_init(&t->priority, 0u);
    at_init(&t->base_priority, 0u);
    at_init(&t->sched.attr, 0u);
    at_init(&t->join.lock.word, 0u);
    t->flags &= ~(uint32_t)(THREAD_CXX | THREAD_FP);
    uintptr_t top = (uintptr_t)t->stack_top;
    if (RT_MARKS && unlikely(rt.stack_fill)) {
        stack_fill(t);
    }
    port_ctx_init(&t->ctx, t->stack.low, top - (uintptr_t)t->stack.low, thread_entry);
    port_san_create(t, top);
}

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

static struct thread *thread_get_sized(struct cpu *cpu, const struct thread_attr *attr, size_t size)
{
    return attr->flags & THREAD_CREATE_GUARD ? stack_get_guarded(cpu, size, attr->guard)
                                             : stack_get_slow(cpu, size);
}
#else
ALWAYS_INLINE struct thread *thread_get_default(struct cpu *cpu)
{
    (void)cpu;
    return NULL;
}

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

/* Descriptor and stack where either was given by the caller. */
static NOINLINE int thread_get_given(struct cpu *cpu, const struct thread_attr *attr,
                                     struct thread **out)
{
    size_t size = attr->stack_size != 0 ? attr->stack_size : rt.stack_size;
    if (attr->stack != NULL && size < rt_stack_min_given()) {
        return -EINVAL;
    }
    size = size < rt.stack_min ? rt.stack_min : size;
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

/* A thread that is new gets its TLS block, outside of the runtime: that may allocate and block. */
static COLD int thread_get_tls(struct thread *t)
{
    if (port_tls_alloc(t, t->stack_top == t ? (char *)(t + 1) : t->stack_top) != 0) {
        return -EAGAIN;
    }
    t->flags |= THREAD_TLS;
    return 0;
}

static COLD void thread_release_given(struct thread *t)
{
    if (t->flags & THREAD_MAIN) {
        return;
    }
    struct port_stack stack = t->stack;
    uint32_t flags = t->flags;
    thread_fini_bare(t);
    stack_give_back(&stack, flags);
}

/* Give memory back. Nobody refers to t any more. */
ALWAYS_INLINE void thread_release(struct cpu *cpu, struct thread *t)
{
    if (likely(!(t->flags & (THREAD_STATIC | THREAD_OWN_STACK | THREAD_MAIN | THREAD_FOREIGN)))) {
        stack_put(cpu, t);
    } else {
        thread_release_given(t);
    }
}

ALWAYS_INLINE int thread_get(struct cpu *cpu, const struct thread_attr *attr, struct thread **out)
{
    if (likely(attr == NULL || (attr->stack == NULL && attr->storage == NULL &&
                                attr->stack_size == 0 && !(attr->flags & THREAD_CREATE_GUARD)))) {
        *out = thread_get_default(cpu);
        return likely(*out != NULL) ? 0 : -EAGAIN;
    }
    return thread_get_given(cpu, attr, out);
}

static void thread_apply(struct thread *t, const struct thread_attr *attr,
                         const struct thread *creator)
{
    t->join_flags = (attr->flags & THREAD_CREATE_DETACHED) ? JOIN_DETACHED : 0;
    t->flags |= attr->flags & (THREAD_CXX | THREAD_FP);
    if (attr->flags & THREAD_FP) {
        port_thread_inherit(t);
    }
    if (attr->cpus != NULL) {
        port_thread_cpus(t, attr->cpus);
    }
    if (attr->name != NULL) {
        thread_set_name(t, attr->name);
    } else if (attr->flags & THREAD_CREATE_NAMED) {
        /* A foreign creator is called so by us alone. */
        thread_set_name(t, creator->flags & THREAD_FOREIGN ? rt_personality.main_name()
                                                           : creator->name);
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

/* Class, priority and weight are the creator's, its own ones: what it inherits for the moment is
 * not passed on. */
static void thread_inherit(struct thread *t, const struct thread *creator)
{
    uint32_t base = at_load_rlx(&creator->base_priority);
    at_init(&t->priority, base);
    at_init(&t->base_priority, base);
    at_init(&t->sched.attr, at_load_rlx(&creator->sched.attr) & ~SCHED_TO_TAIL);
}

/* Inside the runtime, which it leaves. */
ALWAYS_INLINE int thread_create(struct cpu *cpu, unsigned long irq, struct thread **out,
                                const struct thread_attr *attr, struct thread *creator,
                                void *(*start)(void *), void *arg)
{
    struct thread *t;
    int error = thread_get(cpu, attr, &t);
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
    if (PORT_SIGNALS) {
        at_init(&t->sigmask, attr != NULL && attr->sigmask != NULL
                                 ? *attr->sigmask
                                 : at_load_rlx(&creator->sigmask));
    }
    if (attr != NULL) {
        thread_inherit(t, creator);
        thread_apply(t, attr, creator);
    }
    t->cpu = cpu;
    if (rt.policy.thread_init != NULL &&
        (error = rt.policy.thread_init(t, likely(cpu != NULL) ? creator : NULL)) != 0) {
        at_store_rlx(&t->state, (uint32_t)THREAD_EXITED);
        thread_release(cpu, t);
        rt_leave(irq);
        return error;
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
    return thread_create(cpu, irq, out, attr != NULL ? attr : &none, creator, start, arg);
}

/* There is no memory for another stack. Those that CPUs keep for later are given back, and threads
 * that are ready may end, before that is an error. Not longer than RT_NEED_NS: a CPU that does not
 * pick gives back what it has when it does, for the next attempt. */
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

/* The ordinary case has its own code: no attributes, and none to inherit. */
int rt_thread_create(struct thread **out, const struct thread_attr *attr, void *(*start)(void *),
                     void *arg)
{
    int error;
    unsigned long irq;
    if (attr != NULL) {
        error = thread_create_with(out, attr, start, arg);
    } else {
        struct cpu *cpu = rt_enter(&irq);
        if (likely(cpu != NULL && !at_is_set_rlx(&cpu->current->sched.attr))) {
            error = thread_create(cpu, irq, out, NULL, cpu->current, start, arg);
        } else {
            rt_leave(irq);
            error = thread_create_with(out, NULL, start, arg);
        }
    }
    return likely(!RT_STACKS || error != -EAGAIN) ? error
                                                  : thread_create_in_need(out, attr, start, arg);
}

/* Runs on the next thread's stack. Afterwards prev's memory belongs to somebody else. */
void finish_exit(struct cpu *cpu, struct thread *prev, struct thread *joiner)
{
    bool detached = prev->join_flags & JOIN_DETACHED;
    if (!(prev->flags & THREAD_MAIN)) { /* main is not one of the sanitizer's fibers */
        port_san_destroy(prev);
    }
    held_release(held_statelock(&prev->join.lock));
    if (detached) {
        thread_set_state(prev, THREAD_EXITED);
        thread_release(cpu, prev);
    } else {
        at_store_rel(&prev->state, (uint32_t)THREAD_EXITED); /* ORDER(exit) */
    }
    if (joiner != NULL) {
        rt_wake(cpu, joiner, PIRN_WHY_HANDOFF);
    }
}

bool rt_tooled;

/* What runs in a thread that ends while it may still block. */
static NOINLINE void thread_end_user(struct thread *user)
{
    if (user->flags & THREAD_TLS) {
        port_tls_end();
    }
    if (user->local != NULL) {
        rt_personality.local_end(user);
    }
    if (RT_OWNED && user->held != NULL) {
        rt_objects.held_end(user);
    }
    if (rt_signals) {
        rt_personality.signals_end(user);
    }
    if (rt_tooled) {
        rt_personality.tools_end(user);
    }
    if ((user->flags & (THREAD_TLS | THREAD_MAIN)) == THREAD_TLS && !MUTANT(TLS_STALE)) {
        port_tls_reset();
        if (user->local != NULL) {
            rt_personality.local_drop(user); /* an allocator has set a key, to free what is left */
        }
    }
    rt_self(); /* what ran last may have left us without a CPU */
}

/* Is there any of that? */
ALWAYS_INLINE bool thread_end_matters(const struct thread *user)
{
    return ((uintptr_t)user->local | (uintptr_t)user->held | rt_tooled | rt_signals |
            (user->flags & THREAD_TLS)) != 0;
}

/* Inlined into thread_entry, so that a thread that returns leaves the return-stack predictor as
 * deep as it was at its first switch: the thread that goes on returns through its own calls, all
 * predicted. */
ALWAYS_INLINE NORETURN void thread_end(void *ret)
{
    unsigned long irq;
    struct thread *user = rt_self(); /* starts a runtime if this is the child of a fork */
    if (PORT_SIGNALS && unlikely(at_load_rlx(&user->cancel) & CANCEL_SIGNALLED)) {
        rt_signals_left(); /* what was sent before its end is handled before it */
    }
    at_store_rlx(&user->cancel, (uint32_t)CANCEL_ENDING); /* a request that comes now may be lost */
    if (thread_end_matters(user)) {
        thread_end_user(user);
    }
    struct cpu *cpu = rt_enter(&irq);
    struct thread *self = cpu->current;
    self->arg_ret = ret;
    if (RT_MARKS && unlikely(rt.stack_fill)) {
        stack_note(cpu, self);
    }
    trace_exit(cpu);
    life_exited(cpu);
    if (rt.policy.thread_exit != NULL) {
        rt.policy.thread_exit(self);
    }
    state_lock(&self->join.lock, RANK_JOIN);
    self->join_flags |= JOIN_DONE;
    struct thread *joiner = waitq_pop_inline_locked(&self->join);
    struct thread *next;
    if (MUTANT(JOIN_EARLY) && joiner != NULL) {
        rt_wake(cpu, joiner, PIRN_WHY_HANDOFF);
        joiner = NULL;
    }
    if (likely(joiner != NULL && !(joiner->flags & (THREAD_FOREIGN | THREAD_AWAY)) &&
               rt.policy.direct != NULL && rt_may_bypass_pick(cpu) &&
               rt.policy.direct(cpu, joiner))) {
        thread_set_state(joiner, THREAD_READY);
        trace_wake(cpu, joiner, PIRN_WHY_HANDOFF);
        next = joiner;
        joiner = NULL;
    } else {
        next = rt_pick(cpu);
        next = next != NULL ? next : cpu->idle;
    }
    switch_from(cpu, self, next, POST_EXIT, joiner);
    RT_PANIC("an exited thread runs");
}

void rt_thread_exit(void *ret)
{
    thread_end(ret);
}

/* First function on a new stack. */
static NORETURN void thread_entry(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg,
                                  uintptr_t post)
{
    struct thread *self = CONTAINER_OF(to, struct thread, ctx);
    port_irq_entered();
    port_san_switched(self);
    finish_switch((struct port_note){from, cpu, arg, post});
    trace_begin(cpu);
    rt_leave(0);
    if (unlikely(self->flags & THREAD_TLS)) {
        port_tls_begin();
    }
    thread_end(self->start(self->arg_ret));
}

static NOINLINE void join_await_end_locked(struct thread *t)
{
    state_unlock(&t->join.lock, RANK_JOIN);
    for (unsigned round = 0; at_load_acq(&t->state) != THREAD_EXITED; round++) { /* ORDER(exit) */
        port_relax(round);
    }
}

/* Take the join lock (true), or wait for the end that has begun (false): then the memory is the
 * caller's. */
ALWAYS_INLINE bool join_lock(struct thread *t)
{
    if (at_load_acq(&t->state) == THREAD_EXITED) { /* ORDER(exit) */
        return false;
    }
    state_lock(&t->join.lock, RANK_JOIN);
    if (likely(!(t->join_flags & JOIN_DONE))) {
        return true;
    }
    join_await_end_locked(t);
    return false;
}

ALWAYS_INLINE int join_wait_locked(struct thread *t, struct thread *self, uint64_t deadline,
                                   bool point)
{
    if (t->join_flags & (JOIN_DETACHED | JOIN_WAITING)) {
        state_unlock(&t->join.lock, RANK_JOIN);
        return -EINVAL;
    }
    bool ends = point && cancel_is_due(at_load_rlx(&self->cancel)); /* and will not wait */
    if (!ends && id_join_closes_cycle(self, t) && id_join_refuse(self, t)) {
        state_unlock(&t->join.lock, RANK_JOIN);
        return -EDEADLK;
    }
    t->join_flags |= JOIN_WAITING;
    struct waitq_options options = {.deadline = deadline,
                                    .object = t,
                                    .reason = WAIT_JOIN,
                                    .removable = point,
                                    .interruptible = point && rt_signals,
                                    .rank = RANK_JOIN,
                                    .prefer = t};
    int error = waitq_block_inline_locked(port_cpu_self(), &t->join, options);
    if (error != 0 && join_lock(t)) {
        t->join_flags &= (uint8_t)~JOIN_WAITING;
        state_unlock(&t->join.lock, RANK_JOIN);
        return error;
    }
    return 0;
}

ALWAYS_INLINE int join(struct thread *t, void **ret, uint64_t deadline, bool point)
{
    struct thread *self = rt_self();
    if (unlikely(t == self)) {
        return -EDEADLK;
    }
    unsigned long irq = port_irq_save();
    if (at_load_acq(&t->state) != THREAD_EXITED) { /* ORDER(exit) */
        int error = 0;
        id_join_announce(self, t);
        if (likely(join_lock(t))) {
            error = join_wait_locked(t, self, deadline, point);
        }
        id_join_clear(self);
        if (unlikely(error != 0)) {
            rt_leave(irq);
            return error;
        }
    } else if (unlikely(t->join_flags & JOIN_DETACHED)) { /* nobody's any more */
        rt_leave(irq);
        return -EINVAL;
    }
    if (ret != NULL) {
        *ret = t->arg_ret;
    }
    t->join_flags |= JOIN_DETACHED;    /* who joins it once more gets an error, not its memory */
    struct cpu *cpu = port_cpu_self(); /* after a wait another one */
    trace_join(cpu, t);
    thread_release(cpu, t);
    rt_leave(irq);
    return 0;
}

int rt_thread_join(struct thread *t, void **ret, uint64_t deadline)
{
    return join(t, ret, deadline, false);
}

int rt_thread_join_point(struct thread *t, void **ret, uint64_t deadline)
{
    return join(t, ret, deadline, true);
}

int rt_thread_tryjoin(struct thread *t, void **ret)
{
    return at_load_acq(&t->state) == THREAD_EXITED ? rt_thread_join(t, ret, 0)
                                                   : -EBUSY; /* ORDER(exit) */
}

int rt_thread_detach(struct thread *t)
{
    rt_self();
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    int error = 0;
    if (join_lock(t)) {
        if (t->join_flags & (JOIN_DETACHED | JOIN_WAITING)) {
            error = -EINVAL; /* the joiner frees it: JOIN_DETACHED beside it would free twice */
        } else {
            t->join_flags |= JOIN_DETACHED;
        }
        state_unlock(&t->join.lock, RANK_JOIN);
    } else if (t->join_flags & JOIN_DETACHED) {
        error = -EINVAL; /* nobody's any more */
    } else {
        t->join_flags |= JOIN_DETACHED;
        thread_release(cpu, t);
    }
    rt_leave(irq);
    return error;
}
