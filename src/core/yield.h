/* SPDX-License-Identifier: MIT */
/*
 * yield.h - the body of rt_yield, which a policy compiles with its own `rotate` or `pick`: that
 * saves an indirect call at each yield. yield.c has the argument.
 */
#ifndef PIRN_CORE_YIELD_H
#define PIRN_CORE_YIELD_H

#include "../sched/policy.h"
#include "handed.h"
#include "switch.h"

/* Nobody else runs: a handler of an interrupt must not yield. If somebody does, the switch finds
 * it. */
ALWAYS_INLINE void rt_yield_refused(void)
{
#ifdef PORT_HANDLERS
    if (unlikely(!port_may_switch())) {
        port_handler_refuse("yields, which handlers must not do");
    }
#endif
}

/* The long way: pick, switch, enqueue on the other side. */
NOINLINE bool yield_slow(struct cpu *cpu);

COLD bool yield_without_cpu(void);

/* May the running thread lose its CPU, by a tick or in a call? Not while the runtime starts. */
bool rt_may_preempt(const struct cpu *cpu);

/* It has run for a tick: returns the thread that must run instead, out of the queue; NULL: none. */
struct thread *preempt_next(struct cpu *cpu);

/* locks: rotate always leaves a lock. */
ALWAYS_INLINE bool yield_by(policy_rotate_t *rotate, bool locks)
{
    struct cpu *cpu = rt_enter_first();
    if (unlikely(cpu == NULL)) {
        rt_leave(0);
        return yield_without_cpu();
    }
    bool switched = true;
    struct thread *self = cpu->current;
    struct pirn_rotation to = {0};
    if (likely(!at_is_set_rlx(&cpu->pending))) {
        to = policy_rotate(rotate, cpu, self);
    }
    if (likely(to.next != NULL)) {
        thread_set_state(self, THREAD_READY);
        enum post_action post = locks || to.held != NULL ? POST_UNLOCK : POST_NONE;
        switch_from(cpu, self, to.next, post, held_to_post(held_of_policy(to.held)));
    } else {
        switched = yield_slow(cpu);
    }
    rt_leave(0);
    return switched;
}

/* For a policy whose queues cannot stay locked: `pick`, compiled in here, takes the next thread
 * out, and the running one is enqueued after the switch. */
ALWAYS_INLINE bool yield_by_pick(struct thread *(*pick)(struct cpu *self))
{
    struct cpu *cpu = rt_enter_first();
    if (unlikely(cpu == NULL)) {
        rt_leave(0);
        return yield_without_cpu();
    }
    bool switched = true;
    if (unlikely(at_is_set_rlx(&cpu->pending))) {
        switched = yield_slow(cpu);
    } else {
        struct thread *next = ready_take(cpu, pick(cpu), "pick");
        switched = next != NULL;
        if (likely(switched)) {
            switch_from(cpu, cpu->current, next, POST_YIELD, NULL);
        } else {
            port_stack_check();
            rt_yield_refused();
        }
    }
    rt_leave(0);
    return switched;
}

#endif
