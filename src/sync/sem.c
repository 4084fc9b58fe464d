/* SPDX-License-Identifier: MIT */
/*
 * sem.c - counting semaphore with FIFO hand-over (M5).
 *
 * word: the value in the low 31 bits, SEM_WAITERS above.
 * Invariants:
 *   1. SEM_WAITERS is set and cleared under the queue lock only. It is set while anyone waits (it
 * may stay set without a waiter after a timeout, until the next post).
 *   2. With SEM_WAITERS the value is 0 and no fast path changes the word; so a unit that is posted
 * goes to the first waiter, and nobody overtakes. Lock: queue.lock (RANK_WAITQ).
 */
#include <errno.h>

#include "mutant.h"
#include "sync.h"

#define SEM_WAITERS 0x80000000u
#define SEM_VALUE 0x7fffffffu

int rt_sem_init(struct rt_sem *s, uint32_t value)
{
    if (value > SEM_VALUE) {
        return -EINVAL;
    }
    *s = (struct rt_sem){0};
    at_init(&s->word, value);
    at_init(&s->queue.lock.word, 0u);
    return 0;
}

uint32_t rt_sem_value(struct rt_sem *s)
{
    return at_load_rlx(&s->word) & SEM_VALUE;
}

int rt_sem_trywait(struct rt_sem *s)
{
    uint32_t word = at_load_rlx(&s->word);
    while ((word & SEM_VALUE) != 0) {
        if (at_cas_acq(&s->word, &word, word - 1)) { /* ORDER(sem) */
            return 0;
        }
    }
    return -EAGAIN;
}

/* Under the queue lock: take a unit (true) or set SEM_WAITERS (false). */
static bool sem_take_or_mark_locked(struct rt_sem *s)
{
    uint32_t word = at_load_rlx(&s->word);
    for (;;) {
        bool take = (word & SEM_VALUE) != 0;
        if (at_cas_acq(&s->word, &word, take ? word - 1 : word | SEM_WAITERS)) { /* ORDER(sem) */
            return take;
        }
    }
}

int rt_sem_wait_until(struct rt_sem *s, uint64_t deadline)
{
    if (rt_sem_trywait(s) == 0) {
        return 0;
    }
    unsigned long irq;
    int result = 0;
    rt_self();
    rt_enter(&irq);
    spin_lock(&s->queue.lock, RANK_WAITQ);
    if (sem_take_or_mark_locked(s)) {
        spin_unlock(&s->queue.lock, RANK_WAITQ);
    } else {
        struct waitq_how how = {
            .deadline = deadline, .object = s, .reason = WAIT_SEM, .rank = RANK_WAITQ};
        result = waitq_block_locked(&s->queue, &how);
    }
    rt_leave(irq);
    return result;
}

/* Under the queue lock: the first waiter; NULL if the mark was stale, which is cleared. */
static struct thread *sem_pop_locked(struct rt_sem *s)
{
    struct thread *t = waitq_pop_locked(&s->queue);
    if (waitq_empty_locked(&s->queue)) {
        at_and_acq_rel(&s->word, SEM_VALUE); /* ORDER(sem) */
    }
    return t;
}

static COLD struct thread *sem_post_waiters(struct rt_sem *s)
{
    spin_lock(&s->queue.lock, RANK_WAITQ);
    struct thread *t = NULL;
    if (at_load_rlx(&s->word) & SEM_WAITERS) {
        t = sem_pop_locked(s);
    }
    spin_unlock(&s->queue.lock, RANK_WAITQ);
    return t;
}

int rt_sem_post(struct rt_sem *s)
{
    uint32_t word = at_load_rlx(&s->word);
    for (;;) {
        if (word & SEM_WAITERS) {
            unsigned long irq;
            struct cpu *cpu = rt_enter(&irq);
            struct thread *t = sem_post_waiters(s);
            if (t != NULL) {
                rt_wake(cpu, t, PIRN_WHY_HANDOFF);
            }
            rt_leave(irq);
            if (t != NULL && !MUTANT(SEM_DOUBLE)) {
                return 0;
            }
            word = at_load_rlx(&s->word);
            if (t != NULL && (word & SEM_WAITERS)) {
                return 0;
            }
        } else if ((word & SEM_VALUE) == SEM_VALUE) {
            return -EOVERFLOW;
        } else if (at_cas_rel(&s->word, &word, word + 1)) { /* ORDER(sem) */
            return 0;
        }
    }
}
