/* SPDX-License-Identifier: MIT */
/*
 * capacity.h - CPUs of different speeds, and the thread that a fast CPU takes over from a slow one.
 *
 * A CPU's capacity is a number from 1 to 1024, as Linux has it: port_capacity.h, and the option
 * `capacities`. If capacities differ, and the policy uses them (rt.by_capacity):
 *   - a kick of any CPU wakes the fastest sleeper (wake.c);
 *   - a CPU without work that finds nothing ready takes over a thread that a slower CPU runs, which
 *     Linux calls active load balancing.
 *
 * The take-over is a request to the slower CPU, the source. It answers where it may switch: at a
 * tick (rt_preempt), at an interrupt or the end of an operation (rt_resched), at a yield:
 *
 *     ask    -> source->asker, RT_PENDING_RESCHED                   (idle CPU: search, idle_sleep)
 *     takeover_gives -> switch to the idle thread, POST_GIVE        (source)
 *     finish_give    -> the policy queues the thread for the asker, which is kicked
 *
 * Invariants:
 *   1. source->asker is 0, or 1 + the number of the CPU that asks. The asker sets it, from 0, by
 *      compare-and-swap, and may set it back to 0 in the same way; the source takes it by exchange.
 *      Neither publishes data: a request that is lost or late costs time.
 *   2. The thread becomes ready in POST_GIVE, when its context is saved, and by the policy alone:
 *      in a queue from which every CPU may take it. So the asker need not wait for it. If it has
 *      found another thread meanwhile, the given one is an ordinary ready thread.
 *   3. No wake-up is lost: the thread is published as by enqueue, and followed by a kick of any CPU
 *      (ORDER(idle-wake)), besides that of the asker.
 *   4. No CPU sleeps for long beside a slower one that runs: before it sleeps, and after it has
 *      said so, behind the heavy fence of idle_sleep, it asks; a slower CPU that begins to run says
 *      so, fences, and looks for a faster sleeper, which it kicks. ORDER(takeover). A request that
 *      the source drops without an answer (it picks another thread) wakes the asker, to ask again.
 * Locks: the policy's, in finish_give.
 */
#ifndef PIRN_CORE_CAPACITY_H
#define PIRN_CORE_CAPACITY_H

#include "cpu.h"
#include "runtime.h"

/* What a policy does for it (sched_use). All are called inside the runtime, by the CPU itself. */
struct sched_capacity {
    /* Without work: ask a slower CPU for its running thread, if that makes sense. */
    void (*ask)(struct cpu *self);

    /* May the running thread go to the asker? */
    bool (*may_give)(struct cpu *self, struct thread *t, struct cpu *asker);

    /* t is ready and saved: queue it for the asker. */
    void (*give)(struct cpu *self, struct thread *t, struct cpu *asker);
};

#if RT_CAPACITIES
/* The chosen policy's; NULL: it has none. */
HIDDEN extern const struct sched_capacity *rt_capacity_way;

ALWAYS_INLINE void capacity_use(const struct sched_capacity *way)
{
    rt_capacity_way = way;
}

/* Options and port are ready: the capacities of all CPUs. */
void capacities_begin(void);

/* Post a request to the source, if nobody does. Returns `asker` as it was before. */
uint32_t takeover_ask(struct cpu *self, struct cpu *source);
void takeover_withdraw(struct cpu *self, struct cpu *source);

/* The running thread is at a point where it may stop. True: the CPU was asked for it, and has given
 * it; the caller may be on another CPU now. */
COLD bool takeover_gives_asked(struct cpu *cpu);

ALWAYS_INLINE bool takeover_gives(struct cpu *cpu)
{
    return unlikely(rt.by_capacity) && at_load_rlx(&cpu->asker) != 0 && takeover_gives_asked(cpu);
}

/* Before it sleeps. */
ALWAYS_INLINE void capacity_before_sleep(struct cpu *cpu)
{
    if (unlikely(rt.by_capacity) && rt_capacity_way != NULL) {
        rt_capacity_way->ask(cpu);
    }
}

/* The CPU picks another thread: it has nothing to give. */
void takeover_drop(struct cpu *cpu);

/* A CPU that sleeps, or NULL: the fastest one; one that is faster than `self`. */
struct cpu *capacity_sleeper(const struct cpu *self);
struct cpu *capacity_faster_sleeper(const struct cpu *self);

void finish_give(struct cpu *cpu, struct thread *prev, struct cpu *asker);

#else
ALWAYS_INLINE void capacity_use(const struct sched_capacity *way)
{
    (void)way;
}
ALWAYS_INLINE void capacities_begin(void) {}
ALWAYS_INLINE void capacity_before_sleep(struct cpu *cpu)
{
    (void)cpu;
}
ALWAYS_INLINE bool takeover_gives(struct cpu *cpu)
{
    (void)cpu;
    return false;
}
ALWAYS_INLINE void takeover_drop(struct cpu *cpu)
{
    (void)cpu;
}
ALWAYS_INLINE struct cpu *capacity_sleeper(const struct cpu *self)
{
    (void)self;
    return NULL;
}
ALWAYS_INLINE void finish_give(struct cpu *cpu, struct thread *prev, struct cpu *asker)
{
    (void)cpu;
    (void)prev;
    (void)asker;
}
#endif

/* Is `a` faster than `b`, by so much that a thread's move pays (an eighth)? */
ALWAYS_INLINE bool capacity_much_above(unsigned a, unsigned b)
{
    return 8 * rt_capacity(a) > 9 * rt_capacity(b);
}

#endif
