/* SPDX-License-Identifier: MIT */
/*
 * sleep.c - block until a time: a timed wait on a queue of the caller's own that nobody wakes.
 */
#include <errno.h>

#include "mutant.h"
#include "sync.h"

static int sleep_until(uint64_t deadline, bool point)
{
    struct waitq queue = {0};
    unsigned long irq;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    rt_self();
    rt_enter(&irq);
    at_init(&queue.lock.word, 0u);
    state_lock(&queue.lock, RANK_WAITQ);
    struct waitq_options options = {.deadline = deadline == UINT64_MAX ? UINT64_MAX - 1 : deadline,
                                    .reason = WAIT_SLEEP,
                                    .removable = point,
                                    .interruptible = point && rt_signals,
                                    .rank = RANK_WAITQ};
    int end = waitq_block_locked(&queue, &options);
    RT_ASSERT(end != 0 && (end != -EINTR || point)); /* nobody wakes it */
    RT_ASSERT(waitq_empty_locked(&queue) || MUTANT(TIMED_STAY));
    rt_leave(irq);
    return end;
}

void rt_sleep_until(uint64_t deadline)
{
    sleep_until(deadline, false);
}

int rt_sleep_point(uint64_t deadline)
{
    int end = sleep_until(deadline, true);
    return end == -ETIMEDOUT ? 0 : end;
}
