/* SPDX-License-Identifier: MIT */
/*
 * run.c - the scheduling loop: the only one. Idling, waking, and what a CPU does before it picks.
 *
 * A CPU without a thread runs its idle thread, which searches for a while (spinning) and then
 * sleeps. rt.idle_word counts both kinds: searching CPUs (low half) and sleeping ones (high half).
 * One freed thread wakes one CPU: the waker claims a sleeper by clearing its bit in idle_map
 * and counts it as searching at once, so that the next waker does not wake another for the same
 * reason.
 *
 * No lost wake-up:
 *   - the waker publishes the thread | light fence | is any CPU searching? then that will find it;
 *     else the waker claims a sleeper;
 *   - the sleeper counts itself as asleep | heavy fence | has_work? then it stays awake.
 *
 * By the fence pair the sleeper sees the thread or the waker sees the sleeper (or another searching
 * CPU, which comes through the same gate). ORDER(idle-wake) While a CPU searched, wakers relied on
 * it, and what they published may be more than the one thread that it found. So if it was the last
 * one searching it does what a sleeper does: it stops counting as searching | heavy fence |
 * has_work? then it wakes a sleeper.
 *
 * A directed kick (pinned threads) wakes the named CPU if it sleeps, whoever searches. So where
 * threads are pinned nobody counts as searching: the word would go from CPU to CPU with every
 * thread that is awaited for a moment.
 */
#include "block.h"
#include "carrier.h"
#include "mutant.h"
#include "port_foreign.h"
#include "port_io.h"
#include "port_preempt.h"
#include "port_tools.h"
#include "port_trace.h"
#include "runtime.h"
#include "search.h"

/* What a searching CPU adds to the word. */
static uint32_t idle_searching(void)
{
    return rt.policy.pinned ? 0 : RT_SEARCHING;
}

/* Clear the CPU's bit: true if it slept and is now the caller's to wake. */
static bool idle_claim(unsigned id)
{
    uint32_t bit = 1u << (id % 32);
    if (!(at_load_rlx(&rt.idle_map[id / 32]) & bit)) {
        return false;
    }
    if (!(at_and_acq_rel(&rt.idle_map[id / 32], ~bit) & bit)) { /* ORDER(idle-claim) */
        return false;
    }
    at_add_acq_rel(&rt.idle_word, idle_searching() - RT_SLEEPING); /* ORDER(idle-wake) */
    return true;
}

static void kick_claimed(struct cpu *self, unsigned id)
{
    if (self != NULL) {
        STAT_INC(&self->stats.kicks);
    }
    trace_kick(self, id);
    port_cpu_kick(rt.cpus[id]);
}

void rt_kick_cpu(struct cpu *self, unsigned id)
{
    if (idle_claim(id)) {
        kick_claimed(self, id);
    }
}

void rt_kick_sleeper(struct cpu *self)
{
    unsigned start = self != NULL ? self->id : 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        unsigned id = (start + i) % rt.ncpu;
        if (idle_claim(id)) {
            kick_claimed(self, id);
            return;
        }
    }
}

void rt_kick_named(struct cpu *self, struct pirn_kick kick)
{
    if (RT_CLASSES && kick.preempt) {
        rt_preempt_cpu(self, (unsigned)kick.cpu);
    } else {
        rt_kick_cpu(self, (unsigned)kick.cpu);
    }
}

/* READY is the last access: afterwards the kernel thread may end, and its descriptor with it. */
static COLD void rt_wake_foreign(struct thread *t)
{
    port_foreign_unpark(t);
    at_store_rel(&t->state, (uint32_t)THREAD_READY); /* ORDER(park) */
}

bool rt_all_asleep(void)
{
    return rt_idle_sleeping(at_load_rlx(&rt.idle_word)) == rt.ncpu;
}

void rt_kick_any(struct cpu *self)
{
    rt_kick(self, (struct pirn_kick){.cpu = PIRN_KICK_ANY});
}

void rt_wake(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (PORT_FOREIGN && unlikely(t->flags & (THREAD_FOREIGN | THREAD_AWAY))) {
        rt_wake_foreign(t);
        return;
    }
    if (why == PIRN_WHY_HANDOFF && self != NULL && unlikely(!rt_may_bypass(self))) {
        why = PIRN_WHY_WAKE;
    }
    rt_ready(self, t, why);
}

/* The post actions that are not so frequent. */
void finish_other(struct cpu *cpu, struct thread *prev, enum post_action post, void *arg)
{
    switch (post) {
    case POST_YIELD:
        rt_wake(cpu, prev, PIRN_WHY_YIELD);
        break;
    case POST_PREEMPT:
        rt_wake(cpu, prev, PIRN_WHY_PREEMPT);
        break;
    case POST_PARK:
        if (WAITQ_MAY_END) {
            finish_park(cpu, prev, arg);
        }
        break;
    case POST_RETURN:
        if (PORT_CALLS_BLOCK) {
            rt_wake(NULL, prev, PIRN_WHY_WAKE);
        }
        break;
    case POST_NONE:
    case POST_UNLOCK:
    case POST_EXIT:
        break;
    }
}

void rt_preempt_cpu(struct cpu *self, unsigned id)
{
    struct cpu *cpu = rt.cpus[id];
    at_or_acq_rel(&cpu->pending, (uint32_t)RT_PENDING_RESCHED); /* ORDER(pending) */
    if (cpu != self) {
        at_fence_light(); /* ORDER(idle-wake) */
        if (idle_claim(id)) {
            kick_claimed(self, id);
        } else {
            port_cpu_interrupt(cpu);
        }
    }
}

void rt_charge(struct cpu *cpu, unsigned ticks)
{
    if (!(cpu->current->flags & THREAD_IDLE) && rt.policy.charge != NULL &&
        rt.policy.charge(cpu, cpu->current, ticks)) {
        rt_preempt_cpu(cpu, cpu->id);
    }
}

bool rt_resched(void)
{
    struct cpu *cpu = port_cpu_self();
    if (!port_may_switch()) {
        return false;
    }
    rt_service(cpu);
    if ((cpu->current->flags & THREAD_IDLE) || !rt_has_classes()) {
        return false;
    }
    struct thread *next = rt.policy.preempt(cpu, cpu->current, PIRN_WHY_PREEMPT);
    if (next == NULL) {
        return false;
    }
    switch_to(cpu, next, POST_PREEMPT, NULL);
    return true;
}

void rt_post(struct cpu *cpu, uint32_t bits)
{
    at_or_acq_rel(&cpu->pending, bits); /* ORDER(pending) */
    at_fence_light();                   /* ORDER(idle-wake) */
    rt_kick_cpu(port_cpu_self(), cpu->id);
}

void rt_poll(struct cpu *cpu)
{
    if (rt.policy.poll != NULL) {
        rt.policy.poll(cpu);
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

void rt_tick_begins(void)
{
    trace_tick(port_cpu_self(), true, false);
}

void rt_tick_ends(bool preempts)
{
    trace_tick(port_cpu_self(), false, preempts);
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

/* One look everywhere. */
static struct thread *idle_look(struct cpu *cpu)
{
    struct thread *next = rt_pick(cpu);
    if (next == NULL && rt.policy.search != NULL) {
        next = rt.policy.search(cpu);
    }
    return next;
}

static void idle_begin(void)
{
    if (!rt.policy.pinned) {
        at_add_acq_rel(&rt.idle_word, RT_SEARCHING); /* ORDER(idle-wake) */
    }
}

static void idle_found(struct cpu *cpu)
{
    if (rt.policy.pinned) {
        return;
    }
    uint32_t before = at_sub_acq_rel(&rt.idle_word, RT_SEARCHING); /* ORDER(idle-wake) */
    if (rt.ncpu == 1 || rt_idle_searching(before) != 1 || rt_idle_sleeping(before) == 0) {
        return;
    }
    bool more = rt_has_work(cpu); /* a fence costs most of what a needless kick does */
    if (!more && !MUTANT(NO_FOUND_LOOK)) {
        at_fence_heavy(); /* ORDER(idle-wake) */
        more = rt_has_work(cpu);
    }
    if (more) {
        rt_kick_sleeper(cpu);
    }
}

/* Announce, look again, sleep. On return the CPU counts as searching. */
static void idle_sleep(struct cpu *cpu)
{
    uint64_t deadline = UINT64_MAX;
    if (timer_any(&cpu->timers)) {
        deadline = timer_expire(cpu, port_now());
    }
    uint32_t bit = 1u << (cpu->id % 32);
    at_or_acq_rel(&rt.idle_map[cpu->id / 32], bit);                /* ORDER(idle-claim) */
    at_add_acq_rel(&rt.idle_word, RT_SLEEPING - idle_searching()); /* ORDER(idle-wake) */
    if (!MUTANT(NO_IDLE_FENCE)) {
        at_fence_heavy(); /* ORDER(idle-wake) */
    }
    if (MUTANT(NO_RECHECK) || !rt_has_work(cpu)) {
        STAT_INC(&cpu->stats.sleeps);
        trace_sleep(cpu, true);
        if (deadline == UINT64_MAX) {
            rt_report_idle();
        }
        port_cpu_idle(cpu, deadline);
        trace_sleep(cpu, false);
    }
    idle_claim(cpu->id);
    if (deadline != UINT64_MAX) {
        at_or_acq_rel(&cpu->pending, (uint32_t)RT_PENDING_TICK); /* ORDER(pending) */
    }
}

/* What others send is seen between two looks everywhere, which take longer. */
#define LOOKS_AT_PENDING 4u

/* Without work: search and sleep until there is a thread. The time is that of the last look: a
 * clock read when there is a thread would be read while that waits. */
static struct thread *idle_wait(struct cpu *cpu)
{
    struct thread *next = NULL;
    uint64_t from = RT_TIMED ? port_now() : 0;
    uint64_t spin = RT_TIMED && rt.ncpu > 1 && search_pays(cpu, from) ? rt.spin_ns : 0;
    uint64_t now = from;
    uint64_t until = from + spin;
    IDLE_SINCE(cpu, from);
    port_meter_idle(true);
    trace_idle(cpu, true);
    if (rt.policy.idle_enter != NULL) {
        rt.policy.idle_enter(cpu);
    }
    idle_begin();
    for (unsigned round = 0; (next = idle_look(cpu)) == NULL; round++) {
        uint64_t then = now;
        bool offered = false;
        if (round % ROUNDS_TO_OFFER == 0) {
            bool io = RT_INPUT && rt_io_waiting() != 0;
            offered = spin != 0 && search_offers(until - spin, now, io);
            if (io) {
                port_io_poll();
            }
        }
        now = RT_TIMED ? port_now() : 0;
        if (offered && !rt_has_work(cpu) && !search_goes_on(cpu, then, now)) {
            spin = 0;
            until = now;
        }
        if (now >= until && !rt_has_work(cpu)) {
            idle_sleep(cpu);
            now = RT_TIMED ? port_now() : 0;
            until = now + spin;
            round = 0;
        }
        for (unsigned i = 0; i < LOOKS_AT_PENDING && at_load_rlx(&cpu->pending) == 0; i++) {
            port_relax(round < 32 ? round : 32);
        }
    }
    idle_found(cpu);
    if (rt.policy.idle_exit != NULL) {
        rt.policy.idle_exit(cpu);
    }
    IDLE_SINCE(cpu, (uint64_t)0); /* first: who reads both sees no time twice */
    STAT_ADD(&cpu->stats.idle_ns, now - from);
    trace_idle(cpu, false);
    port_meter_idle(false);
    return next;
}

void rt_cpu_main(struct cpu *cpu)
{
    for (;;) {
        struct thread *next = NULL;
        if (PORT_CALLS_BLOCK && unlikely(cpu->id == RT_NO_CPU)) {
            cpu = carrier_wait(cpu->carrier);
            struct thread **given = cpu->given;
            next = *given;
            *given = NULL;
        }
        if (likely(next == NULL)) {
            next = rt_pick(cpu);
        }
        if (next == NULL) {
            next = idle_wait(cpu);
        }
        thread_set_state(cpu->idle, THREAD_READY);
        switch_to(cpu, next, POST_NONE, NULL);
        cpu = port_cpu_self();
    }
}
