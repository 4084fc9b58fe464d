/* SPDX-License-Identifier: MIT */
/*
 * flags.c - event flags: a word, and threads that wait for any or all of some bits.
 *
 * Callers: the native API. Everything happens under the queue's lock, so a thread that tests the
 * word and queues cannot miss a set in between. Invariants:
 *   1. At rest no waiter's bits are there: a thread queues after it has tested the word under the
 *      lock, and a set takes every waiter whose bits the new word has.
 *   2. A set tests all waiters against one word, and clears for them afterwards. It clears for
 *      those alone that it has woken: one that its timer has claimed gets nothing.
 *   3. A waiter that has been woken does not touch the object again: its word is in wait_value.
 * Lock: queue.lock (RANK_WAITQ).
 */
#include "flags.h"

#include <errno.h>

#include "mutant.h"
#include "sync.h"
#include "wake.h"

void rt_flags_init(struct rt_flags *f)
{
    *f = (struct rt_flags){0};
    at_init(&f->queue.lock.word, 0u);
}

ALWAYS_INLINE bool flags_are_there(uint32_t word, uint32_t bits, uint8_t how)
{
    return how & FLAGS_ALL && !MUTANT(FLAGS_SOME) ? (word & bits) == bits : (word & bits) != 0;
}

/* For waitq_pop_if_locked: the new word has what t waits for. */
static bool flags_satisfy(const struct thread *t, const void *word)
{
    return flags_are_there(*(const uint32_t *)word, (uint32_t)t->wait_value, t->wait_kind);
}

/* Take the waiters whose bits are there, and give them the word. Returns what they clear. */
static uint32_t flags_serve_locked(struct rt_flags *f, struct list *woken)
{
    uint32_t clear = 0;
    RT_ASSERT(state_is_held(&f->queue.lock, RANK_WAITQ));
    waitq_pop_if_locked(&f->queue, flags_satisfy, &f->word, woken);
    for (struct list *node = woken->next; node != woken; node = node->next) {
        struct thread *t = CONTAINER_OF(node, struct thread, wait_link);
        RT_ASSERT(t->wait_reason == WAIT_FLAGS && t->wait_object == f);
        clear |= t->wait_kind & FLAGS_CLEAR ? (uint32_t)t->wait_value : 0;
        t->wait_value = f->word;
    }
    return clear;
}

uint32_t rt_flags_set(struct rt_flags *f, uint32_t bits)
{
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&f->queue.lock, RANK_WAITQ);
    uint32_t before = f->word;
    f->word |= bits;
    if (!waitq_empty_locked(&f->queue)) {
        f->word &= ~flags_serve_locked(f, &woken);
    }
    state_unlock(&f->queue.lock, RANK_WAITQ);
    rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, irq);
    rt_leave_woken(irq);
    return before;
}

/* Fewer bits end no wait. */
uint32_t rt_flags_clear(struct rt_flags *f, uint32_t bits)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&f->queue.lock, RANK_WAITQ);
    uint32_t before = f->word;
    f->word &= ~bits;
    state_unlock(&f->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return before;
}

uint32_t rt_flags_get(struct rt_flags *f)
{
    return rt_flags_clear(f, 0);
}

/* If the bits are there, take them. */
static bool flags_take_locked(struct rt_flags *f, uint32_t bits, uint8_t how, uint32_t *got)
{
    RT_ASSERT(state_is_held(&f->queue.lock, RANK_WAITQ));
    if (!flags_are_there(f->word, bits, how)) {
        return false;
    }
    *got = f->word;
    if (how & FLAGS_CLEAR) {
        f->word &= ~bits;
    }
    return true;
}

int rt_flags_trywait(struct rt_flags *f, uint32_t bits, uint8_t how, uint32_t *got)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&f->queue.lock, RANK_WAITQ);
    bool taken = flags_take_locked(f, bits, how, got);
    state_unlock(&f->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return taken ? 0 : -EAGAIN;
}

static int flags_block_locked(struct rt_flags *f, struct thread *self, uint32_t bits, uint8_t how,
                              uint64_t deadline)
{
    struct waitq_options options = {
        .deadline = deadline, .object = f, .reason = WAIT_FLAGS, .kind = how, .rank = RANK_WAITQ};
    self->wait_value = bits;
    int result = waitq_block_locked(&f->queue, &options);
    RT_ASSERT(result != -ETIMEDOUT || deadline != UINT64_MAX);
    return result;
}

int rt_flags_wait_until(struct rt_flags *f, uint32_t bits, uint8_t how, uint32_t *got,
                        uint64_t deadline)
{
    unsigned long irq;
    int result = 0;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    struct thread *self = rt_self();
    rt_enter(&irq);
    state_lock(&f->queue.lock, RANK_WAITQ);
    bool taken = flags_take_locked(f, bits, how, got);
    if (!taken && MUTANT(FLAGS_UNSEEN)) { /* another thread sets the bits here */
        state_unlock(&f->queue.lock, RANK_WAITQ);
        state_lock(&f->queue.lock, RANK_WAITQ);
    }
    if (taken) {
        state_unlock(&f->queue.lock, RANK_WAITQ);
    } else {
        result = flags_block_locked(f, self, bits, how, deadline);
        if (result == 0) {
            *got = (uint32_t)self->wait_value;
        }
    }
    rt_leave(irq);
    return result;
}
