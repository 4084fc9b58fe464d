/* SPDX-License-Identifier: MIT */
/*
 * dist.c - organization "dist" (P1, NON_SMP_DS): a scheduler for each CPU, threads pinned.
 *
 * Only its CPU touches a queue, so it needs no lock; a thread that another CPU or a foreign kernel
 * thread makes ready comes through the inbox of its home. pinned.queued is the home's.
 */
#include "cpu.h"
#include "place.h"
#include "runq_fifo.h"

static struct {
    struct runq q ALIGNED(RT_CACHELINE); /* (O) */
} dist[RT_MAX_CPUS];

static bool lifo;

static int dist_set_discipline(const char *value, const char **why)
{
    (void)why;
    lifo = sched_choice(SCHED_DISCIPLINES, value) == 1;
    return 0;
}

static int dist_init(unsigned ncpu)
{
    for (unsigned i = 0; i < ncpu; i++) {
        runq_init(&dist[i].q, lifo);
    }
    return place_init(ncpu);
}

static void dist_push_owner(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct runq *q = &dist[self->id].q;
    pinned_of(t)->queued = 1;
    runq_push_locked(q, t, runq_to_head(q, why));
}

static struct pirn_kick dist_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pinned *p = pinned_of(t);
    unsigned home = p->home;
    if (likely(self != NULL && self->id == home)) {
        dist_push_owner(self, t, why);
        return (struct pirn_kick){.cpu = PIRN_KICK_NONE};
    }
    p->why = (uint8_t)why;
    inbox_push(rt.cpus[home], t);
    return (struct pirn_kick){.cpu = (int)home};
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
}

static struct thread *dist_pick(struct cpu *self)
{
    struct thread *t = runq_pop_locked(&dist[self->id].q);
    if (t != NULL) {
        pinned_of(t)->queued = 0;
    }
    if (unlikely(place_measuring)) {
        place_account(t);
    }
    return t;
}

static struct thread *dist_rotate(struct cpu *self, struct thread *t)
{
    if (unlikely(place_measuring)) {
        return NULL;
    }
    struct thread *next = runq_rotate_locked(&dist[self->id].q, t);
    if (next != NULL) {
        pinned_of(next)->queued = 0;
        pinned_of(t)->queued = 1;
    }
    return next;
}

static bool dist_remove(struct cpu *self, struct thread *t)
{
    struct pinned *p = pinned_of(t);
    if (self == NULL || p->home != self->id || !p->queued || place_measuring) {
        return false;
    }
    runq_remove_locked(&dist[self->id].q, t);
    p->queued = 0;
    return true;
}

static bool dist_has_work(struct cpu *self)
{
    return runq_estimate(&dist[self->id].q) != 0 || !inbox_empty(self); /* ORDER(idle-wake) */
}

static bool dist_direct(struct cpu *self, struct thread *t)
{
    return pinned_of(t)->home == self->id && !place_measuring;
}

const struct pirn_policy sched_dist = {
    .name = "dist",
    .help = "a scheduler for each CPU, threads pinned by measured load (P1: NON_SMP_DS)",
    .options = (const struct pirn_policy_option[]){{.name = "discipline",
                                                    .values = SCHED_DISCIPLINES,
                                                    .deflt = "fifo",
                                                    .help = "order of each CPU's ready queue",
                                                    .set = dist_set_discipline},
                                                   PLACE_OPTIONS,
                                                   {0}},
    .init = dist_init,
    .fini = place_fini,
    .at_exit = place_at_exit,
    .enqueue = dist_enqueue,
    .pick = dist_pick,
    .rotate = dist_rotate,
    .remove = dist_remove,
    .has_work = dist_has_work,
    .poll = dist_poll,
    .direct = dist_direct,
    .thread_init = place_thread_init,
};
