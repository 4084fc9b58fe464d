/* SPDX-License-Identifier: MIT */
/*
 * hw.c - policy "hw": the hardware holds the ready threads (core/hardware.h), first in, first out.
 *
 * A CPU gives a thread to a queue of the hardware, and the hardware hands it to a CPU that asks. No
 * lock is taken and no memory shared, as long as the queues have room. A CPU without work waits in
 * the hardware for a while, and gets a thread without an interrupt.
 *
 * Invariants:
 *   1. A ready thread is in one place: a queue of the hardware, `spilled`, or a CPU's `next`. One
 *      that a line has woken comes from the hardware, too (core/line.h).
 *   2. `spilled` holds threads that the hardware had no room for. As long as it has some, ready
 *      threads go to its end, and each pick moves threads from its head to the hardware: so none
 *      is overtaken by more threads than the queues of the hardware hold, but by those of 3.
 *   3. `next` holds a thread that was handed something and runs next on its CPU; others take it
 *      when they have no work. The core limits how many run so ahead of others (rt_may_bypass).
 *   4. has_work looks at all three places, and search takes from all: what enqueue has put
 *      somewhere before the waker's look for sleepers is found by a CPU that announces its sleep
 *      after that. ORDER(idle-wake)
 * Lock: spilled.lock (RANK_RUNQ).
 *
 * Length of waits: a pick gives the hardware a few cycles to answer, because other threads of the
 * program can run meanwhile only on other CPUs. A search waits longer, since nothing is left to do
 * but to look at timers and messages now and then.
 */
#include "hardware.h"

#if RT_HARDWARE
#include <errno.h>

#include "cpu.h"
#include "line.h"
#include "mutant.h"
#include "runq_fifo.h"
#include "runtime.h"
#include "yield.h"

#define PICK_CYCLES 6u
#define SEARCH_CYCLES 200u
#define REFILL_MOST 8u /* threads that one pick moves from memory to the hardware */

static struct {
    spinlock_t lock;
    struct runq q; /* (lock) */
} spilled ALIGNED(RT_CACHELINE);

static struct {
    _Atomic(struct thread *) next;
} ALIGNED(RT_CACHELINE) hw_cpus[RT_MAX_CPUS];

static int hw_init(unsigned ncpu)
{
    at_init(&spilled.lock.word, 0u);
    runq_init(&spilled.q, false);
    for (unsigned i = 0; i < ncpu; i++) {
        at_init(&hw_cpus[i].next, (struct thread *)NULL);
    }
    if (hardware_room() == 0) {
        return -ENODEV;
    }
    while (hardware_count() != 0) { /* in the child of a fork: the parent's threads */
        (void)hardware_take(PICK_CYCLES);
    }
    hardware_forget();
    rt.lines = true;
    return 0;
}

static NOINLINE void hw_spill(struct thread *t)
{
    spin_lock(&spilled.lock, RANK_RUNQ);
    runq_push_locked(&spilled.q, t, false);
    spin_unlock(&spilled.lock, RANK_RUNQ);
}

static struct pirn_kick hw_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    if (why == PIRN_WHY_HANDOFF && self != NULL) {
        t = at_xchg_acq_rel(&hw_cpus[self->id].next, t); /* ORDER(hw) */
    }
    if (t != NULL && (unlikely(runq_estimate(&spilled.q) != 0) || !hardware_give(t))) {
        hw_spill(t);
    }
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

ALWAYS_INLINE struct thread *hw_next(unsigned cpu)
{
    _Atomic(struct thread *) *next = &hw_cpus[cpu].next;
    return at_load_rlx(next) == NULL ? NULL
                                     : at_xchg_acq(next, (struct thread *)NULL); /* ORDER(hw) */
}

/* Some of the spilled threads go to the hardware. Returns t; if that is NULL, the first of them. On
 * the way a thread is in no place for a moment, in which a CPU may fall asleep. */
static NOINLINE struct thread *hw_refill(struct cpu *self, struct thread *t)
{
    bool any = false;
    spin_lock(&spilled.lock, RANK_RUNQ);
    if (t == NULL) {
        t = runq_pop_locked(&spilled.q);
    }
    for (unsigned i = 0; i < REFILL_MOST; i++) {
        struct thread *moved = runq_pop_locked(&spilled.q);
        if (moved == NULL) {
            break;
        }
        if (!hardware_give(moved) && !MUTANT(HW_DROP)) {
            runq_push_locked(&spilled.q, moved, true);
            break;
        }
        any = true;
    }
    spin_unlock(&spilled.lock, RANK_RUNQ);
    if (any) {
        rt_kick_any(self);
    }
    return t;
}

ALWAYS_INLINE struct thread *hw_take(struct cpu *self, unsigned cycles)
{
    struct thread *t = hardware_take(cycles);
    if (t != NULL) {
        line_arrived(self, t);
    }
    return likely(runq_estimate(&spilled.q) == 0) ? t : hw_refill(self, t);
}

ALWAYS_INLINE struct thread *hw_pick(struct cpu *self)
{
    struct thread *t = hw_next(self->id);
    return t != NULL ? t : hw_take(self, PICK_CYCLES);
}

static bool hw_yield(void)
{
    return yield_by_pick(hw_pick);
}

static struct thread *hw_search(struct cpu *self)
{
    for (unsigned i = 1; i < rt.ncpu; i++) {
        struct thread *t = hw_next((self->id + i) % rt.ncpu);
        if (t != NULL) {
            return t;
        }
    }
    return hw_take(self, SEARCH_CYCLES);
}

static bool hw_has_work(struct cpu *self)
{
    (void)self;
    if (hardware_count() != 0) { /* ORDER(idle-wake) */
        return true;
    }
    if (MUTANT(HW_BLIND)) {
        return false;
    }
    if (runq_estimate(&spilled.q) != 0) { /* ORDER(idle-wake) */
        return true;
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (at_load_rlx(&hw_cpus[i].next) != NULL) { /* ORDER(idle-wake) */
            return true;
        }
    }
    return false;
}

const struct sched_built_in sched_hw = {
    .policy =
        {
            .name = "hw",
            .help = "ready threads are in queues of the hardware; threads migrate",
            .init = hw_init,
            .enqueue = hw_enqueue,
            .pick = hw_pick,
            .search = hw_search,
            .has_work = hw_has_work,
        },
    .yield = FOR_SPEED(hw_yield),
};
#endif
