/* SPDX-License-Identifier: MIT */
/*
 * cond.c - condition variable.
 *
 * The waiter is queued before the mutex is released, under the queue lock; so a signal sent by
 * anyone who held the mutex afterwards finds it. The mutex's own queue lock is taken under this one
 * (RANK_COND < RANK_WAITQ).
 */
#include <errno.h>

#include "mutant.h"
#include "omutex.h"
#include "port_preempt.h"
#include "wake.h"

void rt_cond_init(struct rt_cond *c)
{
    *c = (struct rt_cond){0};
    at_init(&c->queue.lock.word, 0u);
    at_init(&c->queue.leaving, 0u);
}

/* A waiter that its timer or a request has claimed looks at the queue once more, even if a
 * broadcast has let it go. rt_cond_destroy waits for it. ORDER(cond-destroy) */
ALWAYS_INLINE void cond_enter(struct rt_cond *c, bool timed)
{
    if (timed) {
        at_add_rlx(&c->queue.leaving, 1u);
    }
}

ALWAYS_INLINE void cond_leave(struct rt_cond *c, bool timed)
{
    if (timed) {
        uint32_t before = at_sub_acq_rel(&c->queue.leaving, 1u); /* ORDER(cond-destroy) */
        RT_ASSERT(before != 0);
    }
}

int rt_cond_destroy(struct rt_cond *c)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&c->queue.lock, RANK_COND);
    bool busy = !waitq_empty_locked(&c->queue);
    state_unlock(&c->queue.lock, RANK_COND);
    rt_leave(irq);
    if (busy) {
        return -EBUSY;
    }
    RT_ASSERT(rt_is_outside());                   /* it waits by yielding */
    while (at_load_acq(&c->queue.leaving) != 0) { /* ORDER(cond-destroy) */
        rt_self();
        rt_yield();
        port_relax(0);
    }
    return 0;
}

/* Queue, release the mutex, wait. Inlined: most callers pass a constant `release`. */
ALWAYS_INLINE int cond_block(struct rt_cond *c, uint64_t deadline, bool point,
                             void (*release)(struct cpu *cpu, void *mutex), void *mutex)
{
    bool interruptible = point && rt_signals, timed = point || deadline != UINT64_MAX;
    unsigned long irq;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    rt_self();
    cond_enter(c, timed);
    struct cpu *cpu = rt_enter(&irq);
    if (MUTANT(COND_DROP)) {
        release(cpu, mutex);
    }
    state_lock(&c->queue.lock, RANK_COND);
    if (!MUTANT(COND_DROP)) {
        release(cpu, mutex);
    }
    RT_ASSERT(state_is_held(&c->queue.lock, RANK_COND) && cpu == port_cpu_self());
    struct waitq_options options = {.deadline = deadline,
                                    .object = c,
                                    .reason = WAIT_COND,
                                    .removable = point,
                                    .interruptible = interruptible,
                                    .rank = RANK_COND};
    int result = waitq_block_locked(&c->queue, &options);
    RT_ASSERT(result == 0 || timed);
    cond_leave(c, timed);
    rt_leave(irq);
    if (unlikely(result == -EINTR)) {
        rt_signals_act(); /* then as if woken for no reason */
        return 0;
    }
    return result;
}

ALWAYS_INLINE void release_mutex(struct cpu *cpu, void *mutex)
{
    rt_mutex_unlock_irqoff(cpu, mutex);
}

ALWAYS_INLINE void release_omutex(struct cpu *cpu, void *mutex)
{
    rt_omutex_unlock_irqoff(cpu, mutex);
}

int rt_cond_wait_until(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline)
{
    int result = cond_block(c, deadline, false, release_mutex, m);
    rt_mutex_lock_until(m, UINT64_MAX);
    return result;
}

int rt_cond_wait_point(struct rt_cond *c, struct rt_mutex *m, uint64_t deadline)
{
    int result = cond_block(c, deadline, true, release_mutex, m);
    rt_mutex_lock_until(m, UINT64_MAX);
    return result;
}

int rt_cond_wait_released(struct rt_cond *c, uint64_t deadline,
                          void (*release)(struct cpu *cpu, void *mutex), void *mutex)
{
    return cond_block(c, deadline, true, release, mutex);
}

/* An error of the mutex takes precedence over a timeout. */
int rt_cond_wait_omutex(struct rt_cond *c, struct rt_omutex *m, uint64_t deadline)
{
    int result = cond_block(c, deadline, true, release_omutex, m);
    int error = rt_omutex_lock_unlimited(m, UINT64_MAX);
    return error != 0 ? error : result;
}

void rt_cond_signal(struct rt_cond *c)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&c->queue.lock, RANK_COND);
    struct thread *t = waitq_pop_locked(&c->queue);
    state_unlock(&c->queue.lock, RANK_COND);
    if (t != NULL) {
        rt_wake(cpu, t, PIRN_WHY_WAKE);
    }
    rt_leave_woken(irq);
}

void rt_wake_list(struct cpu *cpu, struct list *list, enum pirn_why why, unsigned long irq)
{
    struct list *node;
    RT_ASSERT(rt_is_inside() && (irq == RT_IRQ_STAY || lockrank_none_held()));
    while ((node = list_pop_front(list)) != NULL) {
        RT_ASSERT(cpu == port_cpu_self());
        rt_wake(cpu, CONTAINER_OF(node, struct thread, wait_link), why);
        port_irq_window(irq);
    }
}

void rt_cond_broadcast(struct rt_cond *c)
{
    struct list woken;
    unsigned long irq;
    list_init(&woken);
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&c->queue.lock, RANK_COND);
    waitq_pop_all_locked(&c->queue, &woken);
    state_unlock(&c->queue.lock, RANK_COND);
    rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, irq);
    rt_leave_woken(irq);
}
