/* SPDX-License-Identifier: MIT */
/*
 * wake.h - the path of a wake-up: a thread becomes ready, a CPU is chosen and kicked, and that CPU
 * looks at its messages and picks.
 *
 *     rt_wake -> rt_ready -> policy.enqueue -> rt_kick -> a sleeper, or the CPU that is named
 *     rt_post, inbox_push, rt_preempt_cpu -> cpu->pending -> that CPU: rt_service, rt_pick
 *
 * Callers: objects of sync and posix, for the thread that they have unlinked (rt_wake, then
 * rt_leave_woken); policies (rt_kick_any, rt_kick_cpu, rt_preempt_cpu, inbox_push, rt_post); the
 * idle loop in run.c, which has the sleeper's side. The short ways are inline here, the long ones
 * are in wake.c.
 *
 * A CPU without a thread searches for a while (spinning) and then sleeps. rt.idle_word counts both
 * kinds: searching CPUs (low half) and sleeping ones (high half). rt.idle_map has a bit for each
 * sleeper that no waker has claimed.
 *
 * A CPU that searches finds what has become ready, and wakes the next one then. With 16 CPUs or
 * more that chain is too slow: there a CPU that has found a thread wakes the next one although
 * others still search, one for each 16 CPUs (rt.more_searchers). Wakers do not: the thread that
 * they have made ready is often the only one.
 *
 * Invariants:
 *   1. One freed thread wakes one CPU: the waker claims a sleeper by clearing its bit in idle_map
 *      and counts it as searching at once, so that the next waker does not wake another for the
 *      same reason. ORDER(idle-claim)
 *   2. No wake-up is lost:
 *        - the waker publishes the thread | waker's fence | is any CPU searching? then that will
 *          find it; else the waker claims a sleeper;
 *        - the sleeper counts itself as asleep | sleeper's fence | has_work? then it stays awake.
 *      By the fence pair (fences.h) the sleeper sees the thread or the waker sees the sleeper (or
 *      another searching CPU, which comes through the same gate). ORDER(idle-wake)
 *   3. While a CPU searched, wakers relied on it, and may have published more threads than the one
 *      that it found. So the last searching CPU (and with more_searchers others before it) does the
 *      same as a sleeper: it stops counting as searching | sleeper's fence | has_work? then it
 *      wakes a sleeper.
 *   4. A directed kick (pinned threads) wakes the named CPU if it sleeps, even if another CPU
 *      searches. So where threads are pinned no CPU counts as searching. Otherwise the word's cache
 *      line would move between CPUs at every short wait.
 *   5. Bits of cpu->pending are set before the fence of 2, and has_work counts them. The CPU looks
 *      at them before every pick, and at RESCHED also when it leaves the runtime (rt_leave_woken).
 *      ORDER(pending)
 *   6. A thread that makes one other ready and blocks at once, without leaving the runtime in
 *      between, holds the kick (cpu->kick; not a directed one): no other CPU is to wake up for what
 *      this CPU runs next. If it does not block after all, it kicks then. Meanwhile its CPU is
 *      awake, so nothing is lost.
 *   7. A thread in an inbox is in no queue, and is linked through rq.next. ORDER(inbox)
 * Locks: none is taken here. enqueue takes those of the policy (RANK_RUNQ), so a caller may hold
 * locks of lower rank, wait queues among them; rt_resched switches, so its caller holds none. A
 * caller with a CPU is inside the runtime; `self` is NULL for one without.
 */
#ifndef PIRN_CORE_WAKE_H
#define PIRN_CORE_WAKE_H

#include "../sched/policy.h"
#include "../trace/trace.h"
#include "cpu.h"
#include "fences.h"
#include "handed.h"
#include "mutant.h"
#include "runtime.h"

/* ---- a thread becomes ready ---- */

/* Make a thread ready that was unlinked by the caller. `self` may be NULL. */
void rt_wake(struct cpu *self, struct thread *t, enum pirn_why why);

/* ---- whom to kick ---- */

/* rt.idle_word: CPUs that search, CPUs that sleep; CALLS: threads may be in calls that nobody
 * watches (carrier.h, 5). The flag stands below the counts: a claim and its sleeper change them in
 * any order, so for a moment they may be less than 0, and borrow from what stands above. */
#define RT_CALLS 1u
#define RT_SEARCHING 2u
#define RT_SLEEPING 0x10000u

/* Less than 0 while a claimed CPU, which was awake already, has found work, and its claimer has not
 * counted it yet. */
ALWAYS_INLINE int rt_idle_searching(uint32_t word)
{
    uint16_t low = (uint16_t)(word & ~RT_CALLS);
    return (int16_t)low / (int)RT_SEARCHING;
}

ALWAYS_INLINE uint32_t rt_idle_sleeping(uint32_t word)
{
    return word / RT_SLEEPING;
}

/* At most `searchers` CPUs search, and one sleeps, or the port must be told (RT_CALLS). */
ALWAYS_INLINE bool rt_idle_tells(uint32_t word, int32_t searchers)
{
    return word != 0 && rt_idle_searching(word) <= searchers;
}

/* The amount that a searching CPU adds to the word. */
ALWAYS_INLINE uint32_t rt_idle_search_unit(void)
{
    return RT_POLICY.pinned ? 0 : RT_SEARCHING;
}

/* Clear the CPU's bit in rt.idle_map: true if it slept and is now the caller's to wake. */
bool rt_idle_claim(unsigned id);

/* A thread is ready, and no CPU sleeps that could run it: the port must watch the CPUs whose thread
 * is in a call (carrier.h, 5). */
COLD void rt_calls_tell(void);

/* Do all CPUs sleep? Followed or preceded by a heavy fence: invariant 2. */
bool rt_all_asleep(void);

COLD void rt_kick_sleeper(struct cpu *self);
NOINLINE void rt_kick_named(struct cpu *self, struct pirn_kick kick);

SHARED_INLINE void rt_kick(struct cpu *self, struct pirn_kick kick);
SHARED_INLINE void rt_kick(struct cpu *self, struct pirn_kick kick)
{
    if (RT_ALONE) {
        rt_kick_named(self, kick);
        return;
    }
    waker_fence(); /* ORDER(idle-wake) */
    if (likely(kick.cpu == PIRN_KICK_ANY)) {
        if (unlikely(rt_idle_tells(at_load_rlx(&rt.idle_word), 0))) {
            rt_kick_sleeper(self);
        }
    } else {
        rt_kick_named(self, kick);
    }
}

/* From rt_kick_hold to rt_kick_held the CPU kicks no sleeper (invariant 6). rt_kick_held returns
 * whether there was a kick to be made. */
ALWAYS_INLINE void rt_kick_hold(struct cpu *self)
{
    self->kick = KICK_HOLD;
}

ALWAYS_INLINE bool rt_kick_held(struct cpu *self)
{
    bool held = self->kick == KICK_HELD;
    self->kick = KICK_AT_ONCE;
    return held;
}

/* Give a thread that is ready to the policy. */
ALWAYS_INLINE void rt_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    uint64_t ticket = ready_give(self, t);
    struct pirn_kick kick = RT_POLICY.enqueue(self, t, why);
    ready_given(self, ticket, kick);
    if (kick.cpu != PIRN_KICK_NONE) {
        rt_kick(self, kick);
    }
}

/* rt_wake for a thread that is not foreign, and no hand-over. */
SHARED_INLINE void rt_ready(struct cpu *self, struct thread *t, enum pirn_why why);
SHARED_INLINE void rt_ready(struct cpu *self, struct thread *t, enum pirn_why why)
{
    thread_set_state(t, THREAD_READY);
    trace_wake(self, t, why);
    rt_enqueue(self, t, why);
}

/* For policies: does CPU `id` sleep (a hint), and wake it if it does. */
ALWAYS_INLINE bool rt_cpu_sleeps(unsigned id)
{
    return (at_load_rlx(&rt.idle_map[id / 32]) & 1u << (id % 32)) != 0;
}
void rt_kick_cpu(struct cpu *self, unsigned id);

/* For policies: the same as PIRN_KICK_ANY, for threads that became ready other than by enqueue. */
void rt_kick_any(struct cpu *self);

/* ---- a more urgent thread ---- */

/* A more urgent thread may be ready for CPU `id`: make it look, when it picks or in rt_resched. Any
 * context. */
void rt_preempt_cpu(struct cpu *self, unsigned id);

/* `ticks` have passed while the caller's CPU ran its current thread; inside the runtime. At the end
 * of a slice RT_PENDING_RESCHED is set. */
void rt_charge(struct cpu *cpu, unsigned ticks);

/* RT_PENDING_RESCHED is set: if another thread should run instead of the caller, or another CPU
 * takes the caller over (capacity.h), switch (true). Inside the runtime, without locks; afterwards
 * the caller may be on another CPU. */
COLD bool rt_resched(void);

/* Leave the runtime after an operation that may have made a thread ready. */
ALWAYS_INLINE void rt_leave_woken(unsigned long irq)
{
    struct cpu *cpu = port_cpu_self();
    if ((RT_CLASSES || RT_CAPACITIES) && likely(cpu != NULL) &&
        unlikely(at_load_rlx(&cpu->pending) & RT_PENDING_RESCHED)) {
        rt_resched();
    }
    rt_leave(irq);
}

/* ---- what is sent to a CPU ---- */

/* Post pending bits to a CPU and make it look at them. */
void rt_post(struct cpu *cpu, uint32_t bits);

/* Send t to cpu->inbox and post RT_PENDING_POLL; any context. */
void inbox_push(struct cpu *cpu, struct thread *t);

/* All threads that were sent, oldest first, through rq.next; NULL: none. Owner. */
struct thread *inbox_take_owner(struct cpu *cpu);

ALWAYS_INLINE bool inbox_empty(struct cpu *cpu)
{
    return at_load_acq(&cpu->inbox) == NULL; /* ORDER(inbox) */
}

/* ---- the CPU picks ---- */

/* Does the caller's CPU have something to do besides its current thread: a ready thread that it may
 * pick, or a request (pending)? A moment later the answer may be another. */
ALWAYS_INLINE bool rt_has_work(struct cpu *cpu)
{
    return at_load_rlx(&cpu->pending) != 0 || RT_POLICY.has_work(cpu);
}

/* The purpose of policy.poll. */
COLD void rt_poll(struct cpu *cpu);

/* Before every pick, if pending is set. */
COLD void rt_service(struct cpu *cpu);

ALWAYS_INLINE struct thread *rt_pick(struct cpu *cpu)
{
    if (unlikely(at_is_set_rlx(&cpu->pending))) {
        rt_service(cpu);
    }
    return policy_pick(cpu);
}

/*
 * Threads that hand over to each other for ever pass through the ready queue now and then, so that
 * nobody in it starves: at every RT_BYPASS_LIMIT-th time, and at the first time after a tick.
 * Without the tick a thread that creates threads which compute for a millisecond, and joins each,
 * would keep its CPU for a second: none of these threads runs for a whole tick.
 */
ALWAYS_INLINE bool rt_is_bypass_refused(uint32_t bypasses)
{
    return bypasses % RT_BYPASS_LIMIT == 0 && !MUTANT(BYPASS_EVER);
}

/* May a thread be put ahead of the ready queue (a hand-over)? */
ALWAYS_INLINE bool rt_may_bypass(struct cpu *cpu)
{
    uint32_t bypasses = at_load_rlx(&cpu->bypasses) + 1;
    at_store_rlx(&cpu->bypasses, bypasses);
    return !rt_is_bypass_refused(bypasses);
}

/* And instead of a pick (the target of a join)? Also not when there are pending bits, at which
 * rt_pick would look. */
ALWAYS_INLINE bool rt_may_bypass_pick(struct cpu *cpu)
{
    return !at_is_set_rlx(&cpu->pending) && rt_may_bypass(cpu);
}

/* And a joiner, which is woken otherwise? A refusal is not counted: rt_wake comes to the same
 * number, and puts the joiner behind the others. */
ALWAYS_INLINE bool rt_may_bypass_to_joiner(struct cpu *cpu)
{
    uint32_t bypasses = at_load_rlx(&cpu->bypasses) + 1;
    if (at_is_set_rlx(&cpu->pending) || rt_is_bypass_refused(bypasses)) {
        return false;
    }
    at_store_rlx(&cpu->bypasses, bypasses);
    return true;
}

/* A tick has interrupted the CPU's thread: the next bypass is refused. A tick in the middle of one
 * of the functions above has no effect; the next tick has. */
ALWAYS_INLINE void rt_bypass_tick(struct cpu *cpu)
{
    if (!MUTANT(BYPASS_LONG)) {
        at_add_alone_rlx(&cpu->ticks, 1);
        at_store_rlx(&cpu->bypasses, at_load_rlx(&cpu->bypasses) | (RT_BYPASS_LIMIT - 1));
    }
}

#endif
