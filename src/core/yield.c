/* SPDX-License-Identifier: MIT */
/*
 * yield.c - a thread lets others run, and stays ready: rt_yield, which it calls, and rt_preempt,
 * which the port calls for it at the end of a slice, in a handler. No lock is held on entry.
 *
 *   1. The yielding thread keeps its stack until the next thread runs on its own stack: it enters a
 *      queue after the switch (POST_YIELD). The short way, rotate, enters it before, in a queue
 *      from which no other CPU takes (POST_NONE), or which stays locked; finish_switch unlocks it
 *      then (POST_UNLOCK).
 *   2. The short way passes no point where the CPU looks at its pending bits (cpu->pending), so it
 *      is taken only if they are 0.
 *   3. If nobody else is ready, or nobody who goes before the caller (sched/classq.c), the caller
 *      goes on, and nothing has happened.
 *   4. After either, the caller may be on another CPU.
 */
#include "yield.h"

#include "../trace/trace.h"
#include "capacity.h"
#include "mutant.h"
#include "port_preempt.h"
#include "runtime.h"
#include "wake.h"

/* The thread that runs next. With priorities, that may be the caller. */
static struct thread *yield_to(struct cpu *cpu)
{
    if (RT_DETOUR && unlikely(rt.detour)) {
        return cpu->idle;
    }
    if (!rt_has_classes()) {
        return rt_pick(cpu);
    }
    if (at_load_rlx(&cpu->pending) != 0) {
        rt_service(cpu);
    }
    return policy_preempt(cpu, PIRN_WHY_YIELD);
}

#ifdef PORT_HANDLERS
/* As if the interrupted thread waited, which the message describes. */
void rt_handler_waits(enum wait_reason reason, const void *object)
{
    struct cpu *cpu = port_cpu_near();
    RT_ASSERT(!port_may_switch());
    if (cpu != NULL) {
        cpu->current->wait_reason = (uint8_t)reason;
        cpu->current->wait_object = object;
    }
    port_handler_refuse("calls a function that waits, which handlers must not do");
}
#endif

/* The long way: pick, switch, enqueue on the other side. */
bool yield_slow(struct cpu *cpu)
{
    rt_yield_refused();
    if (takeover_gives(cpu)) {
        return true;
    }
    struct thread *next = yield_to(cpu);
    if (next == NULL) {
        port_stack_check(); /* where threads are switched, the port looks itself */
        return false;
    }
    if (MUTANT(PUBLISH_EARLY)) {
        rt_wake(cpu, cpu->current, PIRN_WHY_YIELD);
        switch_to(cpu, next, POST_NONE, NULL);
    } else {
        switch_to(cpu, next, POST_YIELD, NULL);
    }
    return true;
}

/* Before that, the thread that starts the runtime has a CPU already, and must keep it: the policy
 * may not be ready, and what it does for the CPU (as in its trace) nobody else may do meanwhile. */
static bool has_started(void)
{
    return at_load_acq(&rt.started) == 2; /* ORDER(start) */
}

bool rt_may_preempt(const struct cpu *cpu)
{
    return cpu != NULL && !(cpu->current->flags & THREAD_IDLE) && has_started();
}

struct thread *preempt_next(struct cpu *cpu)
{
    STAT_INC(&cpu->stats.ticks);
    trace_preempt(cpu);
    rt_poll(cpu);
    if (rt_has_classes()) {
        rt_charge(cpu, 1);
        rt_service(cpu);
        return policy_preempt(cpu, PIRN_WHY_PREEMPT);
    }
    return rt_pick(cpu);
}

void rt_preempt(void)
{
    struct cpu *cpu = port_cpu_self();
    if (!rt_may_preempt(cpu)) {
        return;
    }
    bool switched;
    STAT_INC(&cpu->stats.ticks);
    trace_preempt(cpu);
    rt_poll(cpu);
    if (rt_has_classes()) {
        rt_charge(cpu, 1);
        switched = rt_resched();
    } else {
        switched = yield_slow(cpu);
    }
    if (switched) {
        STAT_INC(&port_cpu_self()->stats.preemptions);
    }
}

bool rt_cpu_pending(const struct cpu *cpu)
{
    return at_load_rlx(&((struct cpu *)(uintptr_t)cpu)->pending) != 0;
}

void rt_interrupted(void)
{
    struct cpu *cpu = port_cpu_self();
    if (!has_started()) {
        return;
    }
    if (rt_has_classes() || (RT_CAPACITIES && rt.by_capacity)) {
        rt_resched();
    } else {
        rt_service(cpu);
    }
}

/* A foreign kernel thread, or a thread that returns to the ready queue anyway. Before the runtime
 * has started there is no other thread, so a yield does not start it: tools yield while they hold
 * their locks. */
bool yield_without_cpu(void)
{
    if (at_load_acq(&rt.started) != 2 || (rt_self()->flags & THREAD_FOREIGN)) { /* ORDER(start) */
        port_relax(UINT32_MAX);
        return false;
    }
    return true;
}

/* In small code the long way alone. */
static bool yield_small(void)
{
    struct cpu *cpu = rt_enter_first();
    bool switched = cpu != NULL && yield_slow(cpu);
    rt_leave(0);
    return cpu != NULL ? switched : yield_without_cpu();
}

#if RT_ONLY_SINGLE
bool rt_yield(void)
{
    return yield_small();
}
#else
/* The table is read after the test for a CPU: without one, it may be changing. */
static struct pirn_rotation rotate_any(struct cpu *self, struct thread *t)
{
    return RT_POLICY.rotate(self, t);
}

static bool yield_any(void)
{
    return yield_by(rotate_any, false);
}

bool (*rt_yield_way)(void) = RT_SPEED ? yield_any : yield_small;

/* A foreign kernel thread may be yielding; for it either way is right. */
void rt_yield_use(bool (*way)(void))
{
    bool (*any)(void) = RT_SPEED ? yield_any : yield_small;
    STORE_RLX(&rt_yield_way, way != NULL ? way : any);
}

bool rt_yield(void)
{
    return __atomic_load_n(&rt_yield_way, __ATOMIC_RELAXED)();
}
#endif
