/* SPDX-License-Identifier: MIT */
/*
 * wake.c - the long ways of wake.h, where the argument stands, and the port's upcalls that post.
 */
#include "wake.h"

#include "../trace/trace.h"
#include "call_sleep.h"
#include "capacity.h"
#include "mutant.h"
#include "nodes.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_preempt.h"
#include "switch.h"
#include "timer.h"

bool rt_idle_claim(unsigned id)
{
    uint32_t bit = 1u << (id % 32);
    if (!(at_load_rlx(&rt.idle_map[id / 32]) & bit)) {
        return false;
    }
    if (!(at_and_acq_rel(&rt.idle_map[id / 32], ~bit) & bit)) { /* ORDER(idle-claim) */
        return false;
    }
    at_add_acq_rel(&rt.idle_word, rt_idle_search_unit() - RT_SLEEPING); /* ORDER(idle-wake) */
    return true;
}

static void kick_claimed(struct cpu *self, unsigned id)
{
    if (self != NULL) {
        STAT_INC(&self->stats.kicks);
    }
    trace_kick(self, id);
    if (!call_sleep_kick(rt.cpus[id])) {
        port_cpu_kick(rt.cpus[id]);
    }
}

void rt_calls_tell(void)
{
#if PORT_CALLS_BLOCK
    if ((at_load_rlx(&rt.idle_word) & RT_CALLS) && !MUTANT(CALL_UNTOLD) &&
        (at_and_acq_rel(&rt.idle_word, ~RT_CALLS) & RT_CALLS)) { /* ORDER(call-watch) */
        at_fence_seq();                                          /* ORDER(call-watch) */
        port_calls_watch();
    }
#endif
}

/* With one CPU a handler of an interrupt has found it asleep. */
static void kick_alone(void)
{
    struct cpu *cpu = rt.cpus[0];
    if (cpu->current == cpu->idle) {
        kick_claimed(cpu, 0);
    }
}

void rt_kick_cpu(struct cpu *self, unsigned id)
{
    if (RT_ALONE) {
        kick_alone();
    } else if (rt_idle_claim(id)) {
        kick_claimed(self, id);
    } else {
        rt_calls_tell();
    }
}

/* The fastest; others may claim it first, each for a thread of its own. */
static NOINLINE COLD bool kick_fastest(struct cpu *self)
{
    struct cpu *cpu;
    while ((cpu = capacity_sleeper(self)) != NULL) {
        if (rt_idle_claim(cpu->id)) {
            kick_claimed(self, cpu->id);
            return true;
        }
    }
    return false;
}

void rt_kick_sleeper(struct cpu *self)
{
    if (RT_POLLERS && self != NULL && self->kick != KICK_AT_ONCE) {
        self->kick = KICK_HELD;
        return;
    }
    if (RT_CAPACITIES && unlikely(rt.by_capacity) && kick_fastest(self)) {
        return;
    }
    unsigned start = self != NULL ? self->id : 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        unsigned id = i == 0           ? start
                      : nodes_differ() ? nodes_near(start, i - 1)
                                       : (start + i) % rt.ncpu;
        if (rt_idle_claim(id)) {
            kick_claimed(self, id);
            return;
        }
    }
    rt_calls_tell();
}

void rt_kick_named(struct cpu *self, struct pirn_kick kick)
{
    RT_ASSERT(RT_ALONE || (kick.cpu >= 0 && (unsigned)kick.cpu < rt.ncpu));
    if (RT_CLASSES && kick.preempt) {
        rt_preempt_cpu(self, (unsigned)kick.cpu);
    } else {
        rt_kick_cpu(self, (unsigned)kick.cpu);
    }
}

/* READY is the last access: afterwards the kernel thread may end, and its descriptor with it. */
static COLD void rt_wake_foreign(struct cpu *self, struct thread *t)
{
    trace_unpark(self, t);
    port_foreign_unpark(t);
    at_store_rel(&t->state, (uint32_t)THREAD_READY); /* ORDER(park) */
}

bool rt_all_asleep(void)
{
    return rt_idle_sleeping(at_load_rlx(&rt.idle_word)) == RT_NCPU;
}

void rt_kick_any(struct cpu *self)
{
    rt_kick(self, (struct pirn_kick){.cpu = PIRN_KICK_ANY});
}

void rt_wake(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (PORT_FOREIGN && unlikely(t->flags & (THREAD_FOREIGN | THREAD_AWAY))) {
        rt_wake_foreign(self, t);
        return;
    }
    if (why == PIRN_WHY_HANDOFF && self != NULL && unlikely(!rt_may_bypass(self))) {
        why = PIRN_WHY_WAKE;
    }
    rt_ready(self, t, why);
}

void rt_preempt_cpu(struct cpu *self, unsigned id)
{
    struct cpu *cpu = rt.cpus[id];
    at_or_acq_rel(&cpu->pending, (uint32_t)RT_PENDING_RESCHED); /* ORDER(pending) */
    if (!RT_ALONE && cpu != self) {
        waker_fence(); /* ORDER(idle-wake) */
        if (rt_idle_claim(id)) {
            kick_claimed(self, id);
        } else {
            port_cpu_interrupt(cpu);
            rt_calls_tell();
        }
    }
}

void rt_charge(struct cpu *cpu, unsigned ticks)
{
    if (!(cpu->current->flags & THREAD_IDLE) && POLICY_HAS(charge) &&
        RT_POLICY.charge(cpu, cpu->current, ticks)) {
        rt_preempt_cpu(cpu, cpu->id);
    }
}

bool rt_resched(void)
{
    struct cpu *cpu = port_cpu_self();
    if (!port_may_switch()) {
        return false;
    }
    if (takeover_gives(cpu)) {
        return true;
    }
    rt_service(cpu);
    if ((cpu->current->flags & THREAD_IDLE) || !rt_has_classes()) {
        return false;
    }
    struct thread *next = policy_preempt(cpu, PIRN_WHY_PREEMPT);
    if (next == NULL) {
        return false;
    }
    switch_to(cpu, next, POST_PREEMPT, NULL);
    return true;
}

void rt_post(struct cpu *cpu, uint32_t bits)
{
    at_or_acq_rel(&cpu->pending, bits); /* ORDER(pending) */
    waker_fence();                      /* ORDER(idle-wake) */
    rt_kick_cpu(port_cpu_self(), cpu->id);
}

void rt_poll(struct cpu *cpu)
{
    if (RT_POLICY.poll != NULL) {
        RT_POLICY.poll(cpu);
    }
}

void rt_service(struct cpu *cpu)
{
    uint32_t bits = at_xchg_acq(&cpu->pending, 0u); /* ORDER(pending) */
    if (RT_TIMED && (bits & RT_PENDING_TICK)) {
        uint64_t next = timer_expire(cpu, port_now());
        if (next != UINT64_MAX) {
            port_timer_set(cpu, next);
        }
    }
    if (RT_CAPACITIES && (bits & RT_PENDING_RESCHED)) {
        takeover_drop(cpu);
    }
    if (bits & RT_PENDING_POLL) {
        rt_poll(cpu);
    }
    if (RT_STACKS && unlikely(bits & RT_PENDING_STACKS)) {
        stack_free_cached(cpu);
    }
}

void rt_on_tick(struct cpu *cpu)
{
    rt_post(cpu, RT_PENDING_TICK);
}

void rt_on_kick(struct cpu *cpu)
{
    rt_post(cpu, RT_PENDING_POLL);
}

void inbox_push(struct cpu *cpu, struct thread *t)
{
    struct thread *first = at_load_rlx(&cpu->inbox);
    do {
        t->rq.next = (struct list *)first;
    } while (!at_cas_rel(&cpu->inbox, &first, t));           /* ORDER(inbox) */
    at_or_acq_rel(&cpu->pending, (uint32_t)RT_PENDING_POLL); /* ORDER(pending) */
}

struct thread *inbox_take_owner(struct cpu *cpu)
{
    struct thread *t = at_xchg_acq(&cpu->inbox, (struct thread *)NULL); /* ORDER(inbox) */
    struct thread *oldest_first = NULL;
    while (t != NULL) {
        struct thread *next = (struct thread *)t->rq.next;
        t->rq.next = (struct list *)oldest_first;
        oldest_first = t;
        t = next;
    }
    return oldest_first;
}
