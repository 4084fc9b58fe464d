/* SPDX-License-Identifier: MIT */
/*
 * central.c - organization "central" (P1, NON_SMP_CS): one scheduler and one lock for all CPUs,
 * threads pinned.
 *
 * Lock: lock (RANK_RUNQ) guards every queue and pinned.queued.
 */
#include "cpu.h"
#include "place.h"
#include "runq_fifo.h"

static struct {
    spinlock_t lock;
    bool lifo;                       /* (C) */
    struct runq queues[RT_MAX_CPUS]; /* (lock) */
} central ALIGNED(RT_CACHELINE);

static int central_set_discipline(const char *value, const char **why)
{
    (void)why;
    central.lifo = sched_choice(SCHED_DISCIPLINES, value) == 1;
    return 0;
}

static int central_init(unsigned ncpu)
{
    at_init(&central.lock.word, 0u);
    for (unsigned i = 0; i < ncpu; i++) {
        runq_init(&central.queues[i], central.lifo);
    }
    return place_init(ncpu);
}

static struct pirn_kick central_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pinned *p = pinned_of(t);
    unsigned home = p->home; /* once it is queued, t may run and be gone */
    struct runq *q = &central.queues[home];
    bool head = runq_to_head(q, why);
    spin_lock(&central.lock, RANK_RUNQ);
    runq_push_locked(q, t, head);
    p->queued = 1;
    spin_unlock(&central.lock, RANK_RUNQ);
    bool here = self != NULL && self->id == home;
    return (struct pirn_kick){.cpu = here ? PIRN_KICK_NONE : (int)home};
}

static struct thread *central_pick(struct cpu *self)
{
    struct runq *q = &central.queues[self->id];
    struct thread *t = NULL;
    if (runq_estimate(q) != 0) {
        spin_lock(&central.lock, RANK_RUNQ);
        t = runq_pop_locked(q);
        if (t != NULL) {
            pinned_of(t)->queued = 0;
        }
        spin_unlock(&central.lock, RANK_RUNQ);
    }
    if (unlikely(place_measuring)) {
        place_account(t);
    }
    return t;
}

static bool central_remove(struct cpu *self, struct thread *t)
{
    struct pinned *p = pinned_of(t);
    if (self != NULL && (p->home != self->id || place_measuring)) {
        return false;
    }
    spin_lock(&central.lock, RANK_RUNQ);
    bool queued = p->queued;
    if (queued) {
        runq_remove_locked(&central.queues[p->home], t);
        p->queued = 0;
    }
    spin_unlock(&central.lock, RANK_RUNQ);
    return queued;
}

static bool central_has_work(struct cpu *self)
{
    return runq_estimate(&central.queues[self->id]) != 0; /* ORDER(idle-wake) */
}

static bool central_direct(struct cpu *self, struct thread *t)
{
    return pinned_of(t)->home == self->id && !place_measuring;
}

const struct pirn_policy sched_central = {
    .name = "central",
    .help = "one scheduler and lock for all CPUs, threads pinned by measured load (P1: NON_SMP_CS)",
    .options = (const struct pirn_policy_option[]){{.name = "discipline",
                                                    .values = SCHED_DISCIPLINES,
                                                    .deflt = "fifo",
                                                    .help = "order of each CPU's ready queue",
                                                    .set = central_set_discipline},
                                                   PLACE_OPTIONS,
                                                   {0}},
    .init = central_init,
    .fini = place_fini,
    .at_exit = place_at_exit,
    .enqueue = central_enqueue,
    .pick = central_pick,
    .remove = central_remove,
    .has_work = central_has_work,
    .direct = central_direct,
    .thread_init = place_thread_init,
};
