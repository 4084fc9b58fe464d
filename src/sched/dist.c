/* SPDX-License-Identifier: MIT */
/*
 * dist.c - policy "dist" (the papers' NON_SMP_DS): a scheduler for each CPU, threads pinned.
 *
 * Only its CPU touches a queue, so it needs no lock. A thread that another CPU or a foreign kernel
 * thread makes ready comes through the inbox of its home. Only the home uses pinned.queued. A CPU
 * that changes a priority of another home sets `reorder`, and the home sorts its queue at its next
 * look. The flag is set after the priority and before the post, so threads that the home has pushed
 * with the old priority are still in the queue then.
 */
#include "affinity.h"
#include "capacities.h"
#include "cpu.h"
#include "mutant.h"
#include "place.h"
#include "runq.h"
#include "runtime.h"
#include "wake.h"
#include "yield.h"

static struct {
    struct runq q ALIGNED(RT_CACHELINE); /* (O) */
    _Atomic(uint32_t) reorder;           /* (A) */
} dist[RT_MAX_CPUS];

static int dist_init(unsigned ncpu)
{
    int error = classes_init(ncpu);
    for (unsigned i = 0; i < ncpu && error == 0; i++) {
        ready_init(&dist[i].q, i);
        at_init(&dist[i].reorder, 0u);
    }
    return error != 0 ? error : place_init(ncpu);
}

static void dist_fini(void)
{
    place_fini();
    classes_fini();
}

static void dist_push_owner(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct runq *q = &dist[self->id].q;
    pinned_of(t)->queued = 1;
    ready_push_locked(q, t, why);
}

static struct pirn_kick dist_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pinned *p = pinned_of(t);
    unsigned home = p->home;
    uint32_t urgency = ready_urgency(&dist[home].q, t);
    if (likely(self != NULL && self->id == home)) {
        dist_push_owner(self, t, why);
    } else {
        p->why = (uint8_t)why;
        inbox_push(rt.cpus[home], t);
    }
    if (unlikely(urgency > URGENCY_OTHER)) {
        return classes_kick_home(self, home, urgency);
    }
    bool here = self != NULL && self->id == home;
    return (struct pirn_kick){.cpu = here ? PIRN_KICK_NONE : (int)home};
}

static void dist_poll(struct cpu *self)
{
    struct thread *t = inbox_take_owner(self);
    while (t != NULL) {
        struct thread *next = (struct thread *)t->rq.next;
        t->rq.next = NULL;
        dist_push_owner(self, t, pinned_of(t)->why);
        t = next;
    }
    struct classq *classes = RUNQ_CLASSES(&dist[self->id].q);
    if (classes != NULL && at_xchg_acq(&dist[self->id].reorder, 0u) != 0) { /* ORDER(reorder) */
        classq_reorder(classes);
    }
}

static struct thread *dist_pick(struct cpu *self)
{
    struct thread *t = ready_pop_locked(self, &dist[self->id].q);
    if (t != NULL) {
        pinned_of(t)->queued = 0;
    }
    if (unlikely(place_measuring)) {
        place_account(t);
    }
    return t;
}

ALWAYS_INLINE struct pirn_rotation dist_rotate(struct cpu *self, struct thread *t)
{
    if (unlikely(place_measuring)) {
        return (struct pirn_rotation){0};
    }
    struct thread *next = ready_rotate_locked(self, &dist[self->id].q, t);
    if (next != NULL) {
        pinned_of(next)->queued = 0;
        pinned_of(t)->queued = 1;
    }
    return (struct pirn_rotation){next, NULL};
}

static bool dist_yield(void)
{
    return yield_by(dist_rotate, false);
}

static bool dist_remove(struct cpu *self, struct thread *t)
{
    struct pinned *p = pinned_of(t);
    if (self == NULL || p->home != self->id || !p->queued || place_measuring) {
        return false;
    }
    if (!ready_remove_locked(self, &dist[self->id].q, t)) {
        return false;
    }
    p->queued = 0;
    return true;
}

static struct thread *dist_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct thread *next = ready_preempt_locked(self, &dist[self->id].q, running, why);
    if (next != NULL) {
        pinned_of(next)->queued = 0;
    }
    if (unlikely(place_measuring) && next != NULL) {
        place_account(next);
    }
    return next;
}

static void dist_requeue(struct thread *t)
{
    struct cpu *self = port_cpu_self();
    unsigned home = pinned_of(t)->home;
    if (self != NULL && self->id == home) {
        if (pinned_of(t)->queued) {
            classq_requeue(RUNQ_CLASSES(&dist[home].q), t);
        }
    } else {
        at_store_rel(&dist[home].reorder, 1u); /* ORDER(reorder) */
        rt_post(rt.cpus[home], RT_PENDING_POLL);
    }
    rt_preempt_cpu(self, home);
}

static void dist_check(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        ready_check_locked(&dist[i].q);
    }
}

static bool dist_has_work(struct cpu *self)
{
    return runq_estimate(&dist[self->id].q) != 0 || !inbox_empty(self); /* ORDER(idle-wake) */
}

static bool dist_direct(struct cpu *self, struct thread *t)
{
    if ((pinned_of(t)->home != self->id && !MUTANT(DIRECT_BOUND)) || place_measuring ||
        !ready_may_run_locked(&dist[self->id].q, t)) {
        return false;
    }
    ready_run_locked(self, &dist[self->id].q, t);
    return true;
}

/* ---- task affinity ---- */

static bool dist_run(struct cpu *self, struct thread *t)
{
    struct runq *q = &dist[self->id].q;
    if (!ready_may_lead_locked(q, t)) {
        return false;
    }
    ready_run_locked(self, q, t);
    if (unlikely(place_measuring)) {
        place_account(t);
    }
    return true;
}

static uint32_t dist_length(unsigned id)
{
    return runq_estimate(&dist[id].q);
}

/* Only a CPU itself can tell. A consumer that comes from another one learns it when it is about to
 * run. */
static uint32_t dist_urgency(unsigned id)
{
    struct cpu *self = port_cpu_self();
    struct thread *first = self != NULL && self->id == id ? ready_peek_locked(&dist[id].q) : NULL;
    return first != NULL ? ready_urgency(&dist[id].q, first) : (uint32_t)URGENCY_IDLE;
}

const struct sched_built_in sched_dist = {
    .policy =
        {
            .name = "dist",
            .help = "a scheduler for each CPU, threads pinned by measured load",
            .options =
                SCHED_OPTIONS(DISCIPLINE_OPTIONS, CAPACITY_OPTION AFFINITY_OPTIONS PLACE_OPTIONS),
            .pinned = true,
            .init = dist_init,
            .fini = FOR_TESTS(dist_fini),
            .at_exit = place_at_exit,
            .enqueue = dist_enqueue,
            .pick = dist_pick,
            .remove = dist_remove,
            .has_work = dist_has_work,
            .poll = dist_poll,
            .direct = dist_direct,
            .thread_init = place_thread_init,
            .check = FOR_TESTS(dist_check),
        },
    .yield = dist_yield,
    .classes =
        SCHED_CLASSES(.preempt = dist_preempt, .requeue = dist_requeue, .charge = classes_charge),
    .affinity = SCHED_AFFINITY(.run = dist_run, .length = dist_length, .urgency = dist_urgency),
};
