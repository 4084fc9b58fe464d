/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - barrier. The last to arrive wakes the others; a woken thread does not touch the
 * barrier again, so it may be destroyed or reused as soon as any waiter has returned. Lock:
 * queue.lock (RANK_WAITQ) guards `arrived`.
 */
#include <errno.h>

#include "mutant.h"
#include "sync.h"

int rt_barrier_init(struct rt_barrier *b, uint32_t count)
{
    if (count == 0) {
        return -EINVAL;
    }
    *b = (struct rt_barrier){.count = count};
    at_init(&b->queue.lock.word, 0u);
    return 0;
}

bool rt_barrier_wait(struct rt_barrier *b)
{
    struct list woken;
    unsigned long irq;
    rt_self();
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&b->queue.lock, RANK_WAITQ);
    bool last = ++b->arrived >= b->count - (MUTANT(BARRIER_EARLY) && b->count > 1);
    if (!last) {
        struct waitq_how how = {
            .deadline = UINT64_MAX, .object = b, .reason = WAIT_BARRIER, .rank = RANK_WAITQ};
        waitq_block_locked(&b->queue, &how);
    } else {
        list_init(&woken);
        b->arrived = 0;
        waitq_pop_all_locked(&b->queue, &woken);
        state_unlock(&b->queue.lock, RANK_WAITQ);
        rt_wake_list(cpu, &woken, PIRN_WHY_WAKE);
    }
    rt_leave_woken(irq);
    return last;
}
