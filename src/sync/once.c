/* SPDX-License-Identifier: MIT */
/*
 * once.c - run a function once. The control word has no room for a wait queue: waiters share a few
 * queues, chosen by address, and look at the word again when any once of that queue ends.
 *
 * Invariant: a waiter is queued only after it saw RUNNING under the queue lock; the end is stored
 * before that lock is taken to wake all. Lock: the shared queue's (RANK_WAITQ).
 */
#include "mutant.h"
#include "sync.h"
#include "wake.h"

enum { ONCE_NEW, ONCE_RUNNING, ONCE_DONE };

#define QUEUES 64u
static struct waitq queues[QUEUES];

void rt_once_reset(void)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        queues[i].first = NULL;
        at_init(&queues[i].lock.word, 0u);
    }
}

static struct waitq *once_queue(const struct rt_once *once)
{
    return &queues[(uintptr_t)once / sizeof(uint64_t) % QUEUES];
}

static void once_wait(struct rt_once *once)
{
    struct waitq *q = once_queue(once);
    unsigned long irq;
    bool interrupted = false;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    rt_self();
    rt_enter(&irq);
    state_lock(&q->lock, RANK_WAITQ);
    if (at_load_acq(&once->state) == ONCE_RUNNING) { /* ORDER(once) */
        struct waitq_options options = {.deadline = UINT64_MAX,
                                        .object = once,
                                        .reason = WAIT_ONCE,
                                        .interruptible = rt_signals,
                                        .rank = RANK_WAITQ};
        interrupted = waitq_block_locked(q, &options) != 0;
    } else {
        state_unlock(&q->lock, RANK_WAITQ);
    }
    rt_leave(irq);
    if (interrupted) {
        rt_signals_act();
    }
}

void rt_once_end(struct rt_once *once, bool done)
{
    struct waitq *q = once_queue(once);
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    RT_ASSERT(at_peek(&once->state) == ONCE_RUNNING);
    at_store_rel(&once->state, done ? (uint32_t)ONCE_DONE : ONCE_NEW); /* ORDER(once) */
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&q->lock, RANK_WAITQ);
    if (!MUTANT(ONCE_DROP)) {
        waitq_pop_all_locked(q, &woken);
    }
    state_unlock(&q->lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, irq);
    rt_leave_woken(irq);
}

/* fn was left by an exception or by pthread_exit: it has not run, and somebody else may run it. */
static void once_abandon(struct rt_once **once)
{
    if (*once != NULL) {
        rt_once_end(*once, false);
    }
}

/* Compiled with -fexceptions. */
static void once_run(struct rt_once *once, void (*fn)(void))
{
    struct rt_once *running CLEANUP(once_abandon) = once;
    fn();
    running = NULL;
    rt_once_end(once, true);
}

bool rt_once_begin(struct rt_once *once)
{
    while (unlikely(at_load_acq(&once->state) != ONCE_DONE)) { /* ORDER(once) */
        uint32_t state = ONCE_NEW;
        rt_identity();
        if (at_cas_acq(&once->state, &state, (uint32_t)ONCE_RUNNING)) { /* ORDER(once) */
            return true;
        }
        if (state == ONCE_RUNNING) {
            once_wait(once);
        }
    }
    return false;
}

void rt_once(struct rt_once *once, void (*fn)(void))
{
    if (unlikely(rt_once_begin(once))) {
        once_run(once, fn);
    }
}
