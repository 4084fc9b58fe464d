/* SPDX-License-Identifier: MIT */
/*
 * run.c - the scheduling loop, the only one: a CPU without a thread searches, sleeps, and picks.
 *
 * A CPU without a thread runs its idle thread, which searches for a while (spinning) and then
 * sleeps. Callers: carriers (rt_cpu_main), finish_switch (finish_other), ports (rt_tick_begins and
 * _ends).
 *
 * Invariants:
 *   1. A CPU counts in rt.idle_word from idle_begin to idle_found: as searching (not where threads
 *      are pinned), or, within idle_sleep, as asleep. A waker that claims it counts it as searching
 *      again.
 *   2. It sleeps only after it has said so and looked again, behind a heavy fence: the sleeper's
 *      side of invariant 2 of wake.h. The last one that searched looks again too (invariant 3
 *      there).
 *   3. The idle thread is never in a queue: a switch to it needs no pick.
 * Locks: none is held in the loop; the policy takes its own.
 */
#include "../trace/trace.h"
#include "block.h"
#include "capacity.h"
#include "carrier.h"
#include "idle.h"
#include "line.h"
#include "mutant.h"
#include "objects.h"
#include "port_io.h"
#include "port_tools.h"
#include "port_trace.h"
#include "runtime.h"
#include "search.h"
#include "wake.h"

/* The less frequent post actions. */
void finish_other(struct cpu *cpu, struct thread *prev, enum post_action post, void *arg)
{
    switch (post) {
    case POST_YIELD:
        rt_wake(cpu, prev, PIRN_WHY_YIELD);
        break;
    case POST_PREEMPT:
        rt_wake(cpu, prev, PIRN_WHY_PREEMPT);
        break;
    case POST_OFFER:
        thread_set_state(prev, THREAD_READY);
        trace_wake(cpu, prev, PIRN_WHY_YIELD); /* nobody has woken it */
        rt_enqueue(cpu, prev, PIRN_WHY_WAKE);
        break;
    case POST_PARK:
        if (!RT_SPEED && WAITQ_MAY_END) { /* else finish_switch does it */
            finish_park(cpu, prev, held_of_post(arg));
        }
        break;
    case POST_LINE:
        finish_line(cpu, prev, arg);
        break;
    case POST_GIVE:
        finish_give(cpu, prev, arg);
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

void rt_tick_begins(void)
{
    trace_tick(port_cpu_self(), true, false);
}

void rt_tick_ends(bool preempts)
{
    struct cpu *cpu = port_cpu_self();
    rt_bypass_tick(cpu);
    trace_tick(cpu, false, preempts);
}

/* One look everywhere. */
static struct thread *idle_look(struct cpu *cpu)
{
    struct thread *next = rt_pick(cpu);
    return next != NULL ? next : policy_search(cpu);
}

static void idle_enter(struct cpu *cpu)
{
    if (RT_POLICY.idle_enter != NULL) {
        RT_POLICY.idle_enter(cpu);
    }
    if (!RT_ALONE && !RT_POLICY.pinned) {
        at_add_acq_rel(&rt.idle_word, RT_SEARCHING); /* ORDER(idle-wake) */
    }
}

IDLE_STEP void idle_found(struct cpu *cpu)
{
    if (RT_ALONE || RT_POLICY.pinned) {
        return;
    }
    uint32_t before = at_sub_acq_rel(&rt.idle_word, RT_SEARCHING); /* ORDER(idle-wake) */
    if (!rt_idle_tells(before - RT_SEARCHING, rt.more_searchers)) {
        return;
    }
    bool more = rt_has_work(cpu); /* a fence costs nearly as much as a needless kick */
    if (!more && !MUTANT(NO_FOUND_LOOK)) {
        sleeper_fence(); /* ORDER(idle-wake) */
        more = rt_has_work(cpu);
    }
    if (more) {
        rt_kick_sleeper(cpu);
    }
}

/* With one CPU: for those who ask whether all sleep. */
static void asleep_alone(bool asleep)
{
    at_store_rlx(&rt.idle_map[0], asleep ? 1u : 0u);
    at_store_rlx(&rt.idle_word, asleep ? RT_SLEEPING : 0u);
}

IDLE_STEP void idle_announce(struct cpu *cpu, bool searching)
{
    if (RT_ALONE) {
        asleep_alone(true);
        return;
    }
    uint32_t unit = searching ? rt_idle_search_unit() : 0;
    at_or_acq_rel(&rt.idle_map[cpu->id / 32], 1u << (cpu->id % 32)); /* ORDER(idle-claim) */
    at_add_acq_rel(&rt.idle_word, RT_SLEEPING - unit);               /* ORDER(idle-wake) */
    if (!MUTANT(NO_IDLE_FENCE)) {
        sleeper_fence(); /* ORDER(idle-wake) ORDER(takeover) */
    }
}

/* Announce, look again, sleep. On return the CPU counts as searching. Returns the deadline. */
static uint64_t idle_sleep(struct cpu *cpu)
{
    uint64_t deadline = UINT64_MAX;
    if (timer_any(&cpu->timers)) {
        deadline = timer_expire(cpu, port_now());
    }
    idle_announce(cpu, true);
    capacity_before_sleep(cpu);
    if (MUTANT(NO_RECHECK) || !rt_has_work(cpu)) {
        STAT_INC(&cpu->stats.sleeps);
        trace_sleep(cpu, true);
        if (RT_REPORT && deadline == UINT64_MAX) {
            rt_objects.report_idle();
        }
        port_cpu_idle(cpu, deadline);
        trace_sleep(cpu, false);
    }
    if (RT_ALONE) {
        asleep_alone(false);
    } else {
        rt_idle_claim(cpu->id);
    }
    if (deadline != UINT64_MAX) {
        at_or_acq_rel(&cpu->pending, (uint32_t)RT_PENDING_TICK); /* ORDER(pending) */
    }
    return deadline;
}

/* Between two searches of all queues, which take longer, the CPU looks at its own pending bits. */
#define LOOKS_AT_PENDING 4u

/* When a search that begins now ends: at the CPU's next deadline at the latest, of which the port
 * may not know. */
static uint64_t search_end(struct cpu *cpu, uint64_t now, uint64_t spin)
{
    uint64_t until = now + spin;
    if (RT_TIMED && spin != 0 && timer_any(&cpu->timers)) {
        uint64_t next = timer_next(cpu);
        until = next < until ? next : until;
    }
    return until;
}

IDLE_STEP void timers_tell(struct cpu *cpu)
{
    if (RT_TIMED && timer_any(&cpu->timers) && !MUTANT(TIMER_UNTOLD)) {
        uint64_t next = timer_next(cpu);
        if (next != UINT64_MAX) {
            port_timer_set(cpu, next);
        }
    }
}

IDLE_STEP void idle_time_begin(struct cpu *cpu, uint64_t now)
{
    IDLE_SINCE(cpu, now);
    port_meter_idle(true);
}

IDLE_STEP void idle_time_end(struct cpu *cpu, uint64_t now)
{
#ifndef PIRN_WITHOUT_STATS
    uint64_t from = STAT_GET(&cpu->idle_since);
    IDLE_SINCE(cpu, (uint64_t)0); /* first, so that a reader of both counts no time twice */
    STAT_ADD(&cpu->stats.idle_ns, now - from);
#else
    (void)cpu;
    (void)now;
#endif
    port_meter_idle(false);
}

/* Without work: search and sleep until there is a thread. The end of the idle time is that of the
 * last look: reading the clock again would delay the thread that was found. slept: the CPU has
 * slept in a call, and counts as searching already. */
static struct thread *idle_wait(struct cpu *cpu, bool slept)
{
    struct thread *next = NULL;
    uint64_t from = RT_TIMED ? port_now() : 0;
    uint64_t spin = RT_TIMED && RT_NCPU > 1 && search_pays(cpu, from) ? search_lasts(cpu) : 0;
    uint64_t now = from, began = from;
    uint64_t until = search_end(cpu, from, spin);
    if (slept) {
        trace_sleep(cpu, false);
    } else {
        idle_time_begin(cpu, from);
        trace_idle(cpu, true);
        idle_enter(cpu);
    }
    bool woken = slept;
    for (unsigned round = 0; (next = idle_look(cpu)) == NULL; round++) {
        uint64_t then = now;
        bool offered = false;
        woken = false;
        if (RT_POLLERS && unlikely(at_load_rlx(&rt.pollers_eager) != 0) &&
            rt_objects.pollers_wake(cpu)) {
            continue;
        }
        if (round % ROUNDS_TO_OFFER == 0) {
            bool io = RT_INPUT && rt_io_waiting() != 0;
            offered = spin != 0 && search_offers(began, now, io);
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
            uint64_t deadline = idle_sleep(cpu);
            now = RT_TIMED ? port_now() : 0;
            search_slept(cpu, now - began, deadline - began);
            woken = true;
            began = now;
            until = search_end(cpu, now, spin);
            round = 0;
        }
        for (unsigned i = 0; i < LOOKS_AT_PENDING && at_load_rlx(&cpu->pending) == 0; i++) {
            port_relax(round < 32 ? round : 32);
        }
    }
    idle_found(cpu);
    if (!woken) {
        search_found(cpu, now - began);
    }
    if (RT_POLICY.idle_exit != NULL) {
        RT_POLICY.idle_exit(cpu);
    }
    idle_time_end(cpu, now);
    trace_idle(cpu, false);
    return next;
}

bool rt_cpu_searches(unsigned i)
{
    return rt_cpu_runs(rt.cpus[i], rt.cpus[i]->idle) && !rt_cpu_sleeps(i);
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
        bool slept = idle_slept(cpu);
        if (likely(next == NULL && !slept)) {
            next = rt_pick(cpu);
        }
        if (next == NULL) {
            next = idle_wait(cpu, slept);
        }
        timers_tell(cpu);
        thread_set_state(cpu->idle, THREAD_READY);
        switch_to(cpu, next, POST_NONE, NULL);
        cpu = port_cpu_self();
    }
}
