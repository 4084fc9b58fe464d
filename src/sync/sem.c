/* SPDX-License-Identifier: MIT */
/*
 * sem.c - counting semaphore with FIFO hand-over.
 *
 * The state of queue.lock is SEM_UNIT times the value. Invariants:
 *   1. Somebody waits only while the value is 0: a thread queues under the lock after it read 0
 *      there, and a post that finds a waiter leaves the value at 0 and gives the unit to the first.
 *   2. Without the lock the value changes only from above 0 (wait and post), by compare-and-swap:
 *      then nobody waits. From 0 it changes under the lock only. So nobody overtakes a waiter.
 * Lock: queue.lock (RANK_WAITQ).
 */
#include <errno.h>

#include "block.h"
#include "mutant.h"
#include "sync.h"
#include "wake.h"

#define SEM_STATE_MAX (RT_SEM_MAX * SEM_UNIT)

int rt_sem_init(struct rt_sem *s, uint32_t value)
{
    if (value > RT_SEM_MAX) {
        return -EINVAL;
    }
    *s = (struct rt_sem){.first = value};
    at_init(&s->queue.lock.word, value * SEM_UNIT);
    return 0;
}

bool rt_sem_is_for_room(const struct thread *t)
{
    const struct rt_sem *s = t->wait_object;
    return t->wait_reason == WAIT_SEM && s->first != 0;
}

uint32_t rt_sem_value(struct rt_sem *s)
{
    return lock_state(&s->queue.lock) / SEM_UNIT;
}

ALWAYS_INLINE int sem_trywait(struct rt_sem *s)
{
    _Atomic(uint32_t) *at = &s->queue.lock.word;
    uint32_t word = at_load_rlx(at);
    for (unsigned round = 0; (word & ~STATE_LOCKED) != 0; round++) {
        if (word & STATE_LOCKED) {
            state_wait(&s->queue.lock, round);
            word = at_load_rlx(at);
        } else if (at_cas_acq(at, &word, word - SEM_UNIT)) { /* ORDER(sem) */
            return 0;
        }
    }
    return -EAGAIN;
}

int rt_sem_trywait(struct rt_sem *s)
{
    return sem_trywait(s);
}

/* True, and a unit; or false, and the lock: the caller has to wait. */
ALWAYS_INLINE bool sem_take_or_lock(struct rt_sem *s)
{
    RT_ASSERT(rt_is_inside() && lockrank_none_held());
    state_lock(&s->queue.lock, RANK_WAITQ);
    uint32_t state = lock_state(&s->queue.lock);
    if (state == 0) {
        return false;
    }
    RT_ASSERT(waitq_empty_locked(&s->queue));
    state_unlock_to(&s->queue.lock, RANK_WAITQ, state - SEM_UNIT);
    return true;
}

/* Reports show `object` as what the thread waits for. */
ALWAYS_INLINE struct waitq_options sem_options(uint64_t deadline, enum wait_reason reason,
                                               const void *object, bool point)
{
    return (struct waitq_options){.deadline = deadline,
                                  .object = object,
                                  .reason = reason,
                                  .removable = point,
                                  .interruptible = point && rt_signals,
                                  .rank = RANK_WAITQ};
}

static NOINLINE int sem_wait_slow(struct rt_sem *s, uint64_t deadline, bool point)
{
    unsigned long irq;
    int result = 0;
    RT_ASSERT(rt_may_wait(WAIT_SEM, s));
    rt_self();
    rt_enter(&irq);
    if (!sem_take_or_lock(s)) {
        struct waitq_options options = sem_options(deadline, WAIT_SEM, s, point);
        result = waitq_block_locked(&s->queue, &options);
        RT_ASSERT(result != -ETIMEDOUT || deadline != UINT64_MAX);
        RT_ASSERT(result != -EINTR || point);
    }
    rt_leave(irq);
    return result;
}

/* Without a deadline. */
ALWAYS_INLINE int sem_wait_for(struct rt_sem *s, enum wait_reason reason, const void *object,
                               bool point)
{
    unsigned long irq;
    int result = 0;
    RT_ASSERT(rt_may_wait(WAIT_SEM, s));
    rt_self();
    struct cpu *cpu = rt_enter(&irq);
    if (!sem_take_or_lock(s)) {
        result = waitq_block_inline_locked(cpu, &s->queue,
                                           sem_options(UINT64_MAX, reason, object, point));
    }
    rt_leave(irq);
    return result;
}

bool rt_sem_wait_inside(struct rt_sem *s, const struct pirn_label *label)
{
    if (sem_take_or_lock(s)) {
        return false;
    }
    enum wait_reason reason = label != NULL ? WAIT_LABEL : WAIT_SEM;
    const void *object = label != NULL ? (const void *)label : s;
    struct waitq_options options = sem_options(UINT64_MAX, reason, object, false);
    waitq_block_locked(&s->queue, &options);
    return true;
}

static NOINLINE bool sem_wait_plain(struct rt_sem *s)
{
    sem_wait_for(s, WAIT_SEM, s, false);
    return true;
}

static NOINLINE int sem_wait_plain_point(struct rt_sem *s)
{
    return sem_wait_for(s, WAIT_SEM, s, true);
}

bool rt_sem_wait(struct rt_sem *s)
{
    return sem_trywait(s) != 0 && sem_wait_plain(s);
}

void rt_sem_wait_as(struct rt_sem *s, const struct pirn_label *label)
{
    RT_ASSERT(label != NULL);
    if (sem_trywait(s) != 0) {
        sem_wait_for(s, WAIT_LABEL, label, false);
    }
}

int rt_sem_wait_until(struct rt_sem *s, uint64_t deadline)
{
    return sem_trywait(s) == 0 ? 0 : sem_wait_slow(s, deadline, false);
}

int rt_sem_wait_point(struct rt_sem *s, uint64_t deadline)
{
    if (sem_trywait(s) == 0) {
        return 0;
    }
    return RT_SPEED && deadline == UINT64_MAX ? sem_wait_plain_point(s)
                                              : sem_wait_slow(s, deadline, true);
}

ALWAYS_INLINE int sem_post_inside(struct rt_sem *s, struct cpu *cpu)
{
    int result = 0;
    state_lock(&s->queue.lock, RANK_WAITQ);
    uint32_t state = lock_state(&s->queue.lock);
    struct thread *t = state == 0 ? waitq_pop_inline_locked(&s->queue) : NULL;
    RT_ASSERT(t != NULL || waitq_empty_locked(&s->queue));
    if (state == SEM_STATE_MAX) {
        result = -EOVERFLOW;
    } else if (t == NULL || MUTANT(SEM_DOUBLE)) {
        state += SEM_UNIT;
    }
    state_unlock_to(&s->queue.lock, RANK_WAITQ, state); /* ORDER(sem) */
    if (t != NULL) {
        rt_wake(cpu, t, PIRN_WHY_HANDOFF);
    }
    return result;
}

int rt_sem_post_inside(struct rt_sem *s, struct cpu *cpu)
{
    return sem_post_inside(s, cpu);
}

/* The value was 0, or somebody is at it. */
static NOINLINE int sem_post_slow(struct rt_sem *s)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    int result = sem_post_inside(s, cpu);
    rt_leave_woken(irq);
    return result;
}

int rt_sem_post(struct rt_sem *s)
{
    _Atomic(uint32_t) *at = &s->queue.lock.word;
    uint32_t word = at_load_rlx(at);
    while (word != 0 && !(word & STATE_LOCKED) && word != SEM_STATE_MAX) {
        if (at_cas_rel(at, &word, word + SEM_UNIT)) { /* ORDER(sem) */
            return 0;
        }
    }
    return sem_post_slow(s);
}
