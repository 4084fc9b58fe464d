/* SPDX-License-Identifier: MIT */
/*
 * dist.c - policy "dist" (the papers' NON_SMP_DS): a scheduler for each CPU, threads pinned.
 *
 * Only its CPU touches a queue, so it needs no lock. A thread that another CPU or a foreign kernel
 * thread makes ready comes through the inbox of its home. Only the home uses pinned.queued.
 *
 * Invariants, for disciplines with classes:
 *   1. A CPU that changes a priority of another home counts in `changes`, after the priority and
 *      before the post, and the home sorts its queue at its next look if the count is not that of
 *      its last one. So threads that the home has pushed with the old priority are still in the
 *      queue then. ORDER(reorder)
 *   2. A thread that becomes more urgent on its way to its home is not left behind there. The
 *      sender reads `changes` before the priority, and again after it has sent the thread: if they
 *      differ, the home is preempted. Both sides post to the home in between, by writes to one
 *      word. So the sender sees the new count, or the home, which looks because of the change,
 *      finds the thread in its inbox. ORDER(reorder)
 *   3. A thread does not wait for a less urgent one that its home has just begun. The home says
 *      what it runs, and then looks, by a write to the same word, whether a thread was sent
 *      meanwhile. A sender posts, and then looks at what the home has said. ORDER(runs)
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
    uint32_t sorted;                     /* (O) `changes` when the queue was sorted */
    _Atomic(uint32_t) changes;           /* (A) */
} dist[RT_MAX_CPUS];

static int dist_init(unsigned ncpu)
{
    int error = classes_init(ncpu);
    for (unsigned i = 0; i < ncpu && error == 0; i++) {
        ready_init(&dist[i].q, i);
        dist[i].sorted = 0;
        at_init(&dist[i].changes, 0u);
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

/* t belongs to another CPU than the caller's. Once it is sent it may run, and end. */
static NOINLINE struct pirn_kick dist_send(struct cpu *self, struct thread *t, unsigned home)
{
    uint32_t changes = at_load_acq(&dist[home].changes); /* ORDER(reorder) */
    uint32_t urgency = ready_urgency(&dist[home].q, t);
    inbox_push(rt.cpus[home], t);
    struct pirn_kick kick = classes_kick_home(self, home, urgency); /* ORDER(runs) */
    if (unlikely(at_load_rlx(&dist[home].changes) != changes) && !MUTANT(SENT_UNSEEN)) {
        kick.preempt = true;
    }
    return kick;
}

static struct pirn_kick dist_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pinned *p = pinned_of(t);
    unsigned home = p->home;
    if (unlikely(self == NULL || self->id != home)) {
        p->why = (uint8_t)why;
        return dist_send(self, t, home);
    }
    uint32_t urgency = ready_urgency(&dist[home].q, t);
    dist_push_owner(self, t, why);
    return unlikely(urgency > URGENCY_OTHER) ? classes_kick_home(self, home, urgency)
                                             : (struct pirn_kick){.cpu = PIRN_KICK_NONE};
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
    uint32_t changes = at_load_acq(&dist[self->id].changes); /* ORDER(reorder) */
    if (classes != NULL && changes != dist[self->id].sorted) {
        dist[self->id].sorted = changes;
        classq_reorder(classes);
    }
}

static struct thread *dist_pick(struct cpu *self)
{
    uint32_t before = classes_urgency_at(self->id);
    struct thread *t = ready_pop_locked(self, &dist[self->id].q);
    if (t != NULL) {
        pinned_of(t)->queued = 0;
        classes_look_at_inbox(self, before);
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
    if (self == NULL || pinned_home(t) != self->id || !p->queued || place_measuring) {
        return false;
    }
    uint32_t before = classes_urgency_at(self->id);
    if (!ready_remove_locked(self, &dist[self->id].q, t)) {
        return false;
    }
    p->queued = 0;
    classes_look_at_inbox(self, before);
    return true;
}

static struct thread *dist_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    uint32_t before = classes_urgency_at(self->id);
    struct thread *next = ready_preempt_locked(self, &dist[self->id].q, running, why);
    classes_look_at_inbox(self, before);
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
    at_fence_seq(); /* ORDER(home) the priority before its home is read */
    unsigned home = pinned_home(t);
    if (self != NULL && self->id == home && pinned_of(t)->queued) {
        classq_requeue(RUNQ_CLASSES(&dist[home].q), t);
    } else {
        at_add_acq_rel(&dist[home].changes, 1u); /* ORDER(reorder) */
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
    uint32_t before = classes_urgency_at(self->id);
    ready_run_locked(self, &dist[self->id].q, t);
    classes_look_at_inbox(self, before);
    return true;
}

/* ---- task affinity ---- */

static bool dist_run(struct cpu *self, struct thread *t)
{
    struct runq *q = &dist[self->id].q;
    if (!ready_may_lead_locked(q, t)) {
        return false;
    }
    uint32_t before = classes_urgency_at(self->id);
    ready_run_locked(self, q, t);
    classes_look_at_inbox(self, before);
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
    .yield = FOR_SPEED(dist_yield),
    .binds = true,
    .classes =
        SCHED_CLASSES(.preempt = dist_preempt, .requeue = dist_requeue, .charge = classes_charge),
    .affinity = SCHED_AFFINITY(.run = dist_run, .length = dist_length, .urgency = dist_urgency),
};
