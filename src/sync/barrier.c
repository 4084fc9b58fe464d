/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - barrier. The last thread to arrive wakes the others. A woken thread does not touch
 * the barrier again, so it may be destroyed or reused as soon as any waiter has returned. The
 * exception is a waiter that a signal has interrupted: it looks at the barrier again, to see
 * whether it has opened meanwhile. queue.leaving counts the waiters that may do so, and
 * rt_barrier_settle waits for them before the barrier is destroyed. ORDER(barrier-destroy) Lock:
 * queue.lock (RANK_WAITQ) guards `arrived` and `round`.
 */
#include <errno.h>

#include "mutant.h"
#include "sync.h"
#include "wake.h"

int rt_barrier_init(struct rt_barrier *b, uint32_t count)
{
    if (count == 0) {
        return -EINVAL;
    }
    *b = (struct rt_barrier){.count = count};
    at_init(&b->queue.lock.word, 0u);
    return 0;
}

/* The others have not arrived. */
static void barrier_block_locked(struct rt_barrier *b, unsigned long *irq)
{
    struct waitq_options options = {.deadline = UINT64_MAX,
                                    .object = b,
                                    .reason = WAIT_BARRIER,
                                    .interruptible = rt_signals,
                                    .rank = RANK_WAITQ};
    bool may_leave = options.interruptible;
    RT_ASSERT(state_is_held(&b->queue.lock, RANK_WAITQ));
    uint32_t round = b->round;
    if (may_leave) {
        at_add_rlx(&b->queue.leaving, 1u);
    }
    while (waitq_block_locked(&b->queue, &options) == -EINTR) {
        rt_leave(*irq);
        rt_signals_act();
        rt_self(); /* a handler may have lost the CPU */
        rt_enter(irq);
        state_lock(&b->queue.lock, RANK_WAITQ);
        if (b->round != round) {
            state_unlock(&b->queue.lock, RANK_WAITQ);
            break;
        }
    }
    if (may_leave) {
        uint32_t before = at_sub_acq_rel(&b->queue.leaving, 1u); /* ORDER(barrier-destroy) */
        RT_ASSERT(before != 0);
    }
}

void rt_barrier_settle(struct rt_barrier *b)
{
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    while (at_load_acq(&b->queue.leaving) != 0) { /* ORDER(barrier-destroy) */
        rt_yield();
        port_relax(0);
    }
}

bool rt_barrier_wait(struct rt_barrier *b)
{
    struct list woken;
    unsigned long irq;
    RT_ASSERT(rt_is_outside());
    rt_self();
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&b->queue.lock, RANK_WAITQ);
    RT_ASSERT(b->arrived < b->count);
    bool last = ++b->arrived >= b->count - (MUTANT(BARRIER_EARLY) && b->count > 1);
    if (!last) {
        barrier_block_locked(b, &irq);
    } else {
        list_init(&woken);
        b->arrived = 0;
        b->round++;
        unsigned n = waitq_pop_all_locked(&b->queue, &woken);
        RT_ASSERT(n < b->count); /* less those that act on a signal */
        state_unlock(&b->queue.lock, RANK_WAITQ);
        rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, irq);
    }
    rt_leave_woken(irq);
    return last;
}
