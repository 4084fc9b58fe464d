/* SPDX-License-Identifier: MIT */
/*
 * central.c - policy "central" (the papers' NON_SMP_CS): one scheduler and one lock
 * for all CPUs, threads pinned.
 *
 * A yield changes places with the first thread in one visit. The lock is held until the context of
 * the yielding thread is saved (POST_UNLOCK).
 *
 * Lock: lock (RANK_RUNQ) guards every queue and pinned.queued.
 */
#include "capacities.h"
#include "cpu.h"
#include "held.h"
#include "mutant.h"
#include "place.h"
#include "runq.h"
#include "runtime.h"
#include "wake.h"
#include "yield.h"

static struct {
    spinlock_t lock;
    struct runq queues[RT_MAX_CPUS]; /* (lock) */
} central ALIGNED(RT_CACHELINE);

static int central_init(unsigned ncpu)
{
    int error = classes_init(ncpu);
    at_init(&central.lock.word, 0u);
    for (unsigned i = 0; i < ncpu && error == 0; i++) {
        ready_init(&central.queues[i], i);
    }
    return error != 0 ? error : place_init(ncpu);
}

static void central_fini(void)
{
    place_fini();
    classes_fini();
}

static struct pirn_kick central_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pinned *p = pinned_of(t);
    unsigned home = p->home; /* once it is queued, t may run and end */
    struct runq *q = &central.queues[home];
    spin_lock(&central.lock, RANK_RUNQ);
    ready_push_locked(q, t, why);
    p->queued = 1;
    uint32_t urgency = ready_urgency(q, t); /* in the queue: see requeue */
    spin_unlock(&central.lock, RANK_RUNQ);
    if (unlikely(urgency > URGENCY_OTHER)) {
        return classes_kick_home(self, home, urgency);
    }
    return classes_wake_home(self, home);
}

static struct thread *central_pick(struct cpu *self)
{
    struct runq *q = &central.queues[self->id];
    struct thread *t = NULL;
    if (MUTANT(PICK_BOUND) && runq_estimate(q) == 0) {
        q = &central.queues[(self->id + 1) % rt.ncpu];
    }
    if (runq_estimate(q) != 0) {
        spin_lock(&central.lock, RANK_RUNQ);
        t = ready_pop_locked(self, q);
        if (t != NULL) {
            pinned_of(t)->queued = 0;
        }
        spin_unlock(&central.lock, RANK_RUNQ);
    } else if (RUNQ_CLASSES(q) != NULL) {
        classes_take(self, RUNQ_CLASSES(q), NULL);
    }
    if (unlikely(place_measuring)) {
        place_account(t);
    }
    return t;
}

/* If the lock is taken, the long way waits for it. */
ALWAYS_INLINE struct pirn_rotation central_rotate(struct cpu *self, struct thread *t)
{
    struct runq *q = &central.queues[self->id];
    if (unlikely(place_measuring) || runq_estimate(q) == 0 ||
        unlikely(!spin_trylock(&central.lock, RANK_RUNQ))) {
        return (struct pirn_rotation){0};
    }
    struct thread *next = ready_rotate_locked(self, q, t);
    if (unlikely(next == NULL)) {
        spin_unlock(&central.lock, RANK_RUNQ);
        return (struct pirn_rotation){0};
    }
    pinned_of(next)->queued = 0;
    pinned_of(t)->queued = 1;
    return (struct pirn_rotation){next, held_to_policy(held_spinlock(&central.lock))};
}

static bool central_yield(void)
{
    return yield_by(central_rotate, true);
}

static bool central_remove(struct cpu *self, struct thread *t)
{
    struct pinned *p = pinned_of(t);
    if (self != NULL && (pinned_home(t) != self->id || place_measuring)) {
        return false;
    }
    spin_lock(&central.lock, RANK_RUNQ);
    bool queued = p->queued && ready_remove_locked(self, &central.queues[p->home], t);
    if (queued) {
        p->queued = 0;
    }
    spin_unlock(&central.lock, RANK_RUNQ);
    return queued;
}

static struct thread *central_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    spin_lock(&central.lock, RANK_RUNQ);
    struct thread *next = ready_preempt_locked(self, &central.queues[self->id], running, why);
    if (next != NULL) {
        pinned_of(next)->queued = 0;
    }
    spin_unlock(&central.lock, RANK_RUNQ);
    if (unlikely(place_measuring) && next != NULL) {
        place_account(next);
    }
    return next;
}

/* The priority is stored. The thread that enqueues t sees it, or t is in the queue here. */
static void central_requeue(struct thread *t)
{
    struct pinned *p = pinned_of(t);
    spin_lock(&central.lock, RANK_RUNQ);
    if (p->queued) {
        classq_requeue(RUNQ_CLASSES(&central.queues[p->home]), t);
    }
    spin_unlock(&central.lock, RANK_RUNQ);
    rt_preempt_cpu(port_cpu_self(), pinned_home(t)); /* it looks whether another one should run */
}

static bool central_has_work(struct cpu *self)
{
    return runq_estimate(&central.queues[self->id]) != 0; /* ORDER(idle-wake) */
}

static bool central_direct(struct cpu *self, struct thread *t)
{
    if (pinned_of(t)->home != self->id || place_measuring) {
        return false;
    }
    struct runq *q = &central.queues[self->id];
    if (likely(RUNQ_CLASSES(q) == NULL)) {
        return true;
    }
    spin_lock(&central.lock, RANK_RUNQ);
    bool may = ready_may_run_locked(q, t);
    if (may) {
        ready_run_locked(self, q, t);
    }
    spin_unlock(&central.lock, RANK_RUNQ);
    return may;
}

static void central_check(void)
{
    spin_lock(&central.lock, RANK_RUNQ);
    for (unsigned i = 0; i < rt.ncpu; i++) {
        ready_check_locked(&central.queues[i]);
    }
    spin_unlock(&central.lock, RANK_RUNQ);
}

const struct sched_built_in sched_central = {
    .policy =
        {
            .name = "central",
            .help = "one scheduler and lock for all CPUs, threads pinned by measured load",
            .options = SCHED_OPTIONS(DISCIPLINE_OPTIONS, CAPACITY_OPTION PLACE_OPTIONS),
            .pinned = true,
            .init = central_init,
            .fini = FOR_TESTS(central_fini),
            .at_exit = place_at_exit,
            .enqueue = central_enqueue,
            .pick = central_pick,
            .remove = central_remove,
            .has_work = central_has_work,
            .direct = central_direct,
            .thread_init = place_thread_init,
            .check = FOR_TESTS(central_check),
        },
    .yield = FOR_SPEED(central_yield),
    .binds = true,
    .classes = SCHED_CLASSES(.preempt = central_preempt, .requeue = central_requeue,
                             .charge = classes_charge),
};
