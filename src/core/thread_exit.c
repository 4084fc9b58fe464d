/* SPDX-License-Identifier: MIT */
/*
 * thread_exit.c - the first function on a thread's stack, and the end of its life.
 *
 * Callers: a thread's first switch (thread_entry), rt_thread_exit by both APIs, finish_switch for
 * the post action POST_EXIT (finish_exit).
 *
 * Exit and join (thread_join.c) meet at the join lock (t->join.lock):
 *   1. The exiting thread takes it, sets JOIN_DONE, unlinks the joiner, and gives it back in
 *      finish_exit, when its stack is left. Then it stores EXITED (release): the last access to its
 *      memory.
 *   2. A joiner that sees JOIN_DONE under the lock spins until EXITED, a few instructions later,
 *      before it touches anything.
 *   3. Only one party frees the memory: the joiner, the detacher that came late, or finish_exit for
 *      a thread that was detached before JOIN_DONE. join_flags, guarded by the lock, says which.
 *   4. The joiner is made ready after EXITED is stored, never before: it frees the stack.
 * Locks: the join lock (RANK_JOIN), handed over in the switch.
 *
 * thread_entry and the end are in one file because the end is inlined into thread_entry: see
 * thread_end.
 */
#include "../trace/trace.h"
#include "block.h"
#include "cancel.h"
#include "life.h"
#include "mark.h"
#include "mutant.h"
#include "objects.h"
#include "port_signals.h"
#include "port_tls.h"
#include "port_tools.h"
#include "thread_memory.h"

static NOINLINE void finish_detached(struct cpu *cpu, struct thread *prev)
{
    thread_set_state(prev, THREAD_EXITED);
    thread_release(cpu, prev);
}

/* Runs on the next thread's stack. Afterwards prev's memory belongs to somebody else. */
void finish_exit(struct cpu *cpu, struct thread *prev, struct thread *joiner)
{
    bool detached = prev->join_flags & JOIN_DETACHED;
    if (!(prev->flags & THREAD_MAIN)) { /* main is not one of the sanitizer's fibers */
        port_san_destroy(prev);
    }
    held_release(held_statelock(&prev->join.lock));
    if (unlikely(detached)) {
        RT_ASSERT(joiner == NULL);
        finish_detached(cpu, prev);
        return;
    }
    at_store_rel(&prev->state, (uint32_t)THREAD_EXITED); /* ORDER(exit) */
    if (joiner != NULL) {
        rt_wake(cpu, joiner, PIRN_WHY_HANDOFF);
    }
}

#ifndef rt_tooled
bool rt_tooled;
#endif

/* The part of a thread's end that may still block. */
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

/* Is there any of that? False: nothing is left to be done. */
ALWAYS_INLINE bool thread_end_matters(const struct thread *user)
{
    if (unlikely(((uintptr_t)user->local | (uintptr_t)user->held | rt_tooled | rt_signals) != 0)) {
        return true;
    }
    uint32_t tls = user->flags & (THREAD_TLS | THREAD_MAIN);
    if ((tls & THREAD_TLS) == 0) {
        return false;
    }
    if (tls != THREAD_TLS || !port_tls_reset_unused()) {
        return true;
    }
    rt_self(); /* it calls the C library, where we may have lost our CPU */
    return false;
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
    if (unlikely(thread_end_matters(user))) {
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
    if (RT_POLICY.thread_exit != NULL) {
        RT_POLICY.thread_exit(self);
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
               RT_POLICY.direct != NULL && rt_may_bypass_to_joiner(cpu) &&
               RT_POLICY.direct(cpu, joiner))) {
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
void thread_entry(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg, uintptr_t post)
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
