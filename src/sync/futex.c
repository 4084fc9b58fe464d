/* SPDX-License-Identifier: MIT */
/*
 * futex.c - see futex.h.
 *
 * No wake-up is lost. A waiter compares the word, and is queued, in one section of its queue's
 * lock. A waker has changed the word before it takes that lock. If its section comes first, the
 * waiter sees the new value by the lock's order; else the waker finds the waiter. ORDER(futex)
 *
 * The waiters of several words may share a queue. wait_object tells them apart; it is written under
 * the lock. A waiter that has returned is in no queue, so nobody looks at its word for it.
 *
 * Lock: the queue's (RANK_WAITQ).
 */
#include "futex.h"

#include <errno.h>

#include "mutant.h"
#include "sync.h"
#include "wake.h"

/* Programs on an operating system may have many such words. */
#define QUEUES (PORT_PROCESSES ? 256u : 64u)

static struct waitq queues[QUEUES];

void rt_futex_reset(void)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        queues[i].first = NULL;
        at_init(&queues[i].lock.word, 0u);
    }
}

/* Neighbouring words belong to one object at most times. Objects of the same kind lie at multiples
 * of a power of two: higher bits count, too. */
static struct waitq *queue_of(const _Atomic(uint32_t) *word)
{
    uintptr_t at = (uintptr_t)word / sizeof(*word);
    return &queues[(at ^ at / QUEUES) % QUEUES];
}

int rt_futex_wait(_Atomic(uint32_t) *word, const struct futex_wait *wait)
{
    struct waitq *q = queue_of(word);
    unsigned long irq;
    int result = -EAGAIN;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    rt_self();
    rt_enter(&irq);
    state_lock(&q->lock, RANK_WAITQ);
    if (at_load_rlx(word) == wait->value || MUTANT(FUTEX_BLIND)) { /* ORDER(futex) */
        struct waitq_options options = {.deadline = wait->deadline,
                                        .object = word,
                                        .reason = wait->reason,
                                        .interruptible = rt_signals,
                                        .rank = RANK_WAITQ};
        result = waitq_block_locked(q, &options);
    } else {
        state_unlock(&q->lock, RANK_WAITQ);
    }
    rt_leave(irq);
    return result;
}

unsigned rt_futex_wake(const _Atomic(uint32_t) *word, unsigned n)
{
    struct waitq *q = queue_of(word);
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&q->lock, RANK_WAITQ); /* ORDER(futex) */
    unsigned found = waitq_pop_object_locked(q, word, n, &woken);
    state_unlock(&q->lock, RANK_WAITQ);
    if (found != 0) {
        rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, irq);
    }
    rt_leave_woken(irq);
    return found;
}
