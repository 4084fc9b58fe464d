/* SPDX-License-Identifier: MIT */
/*
 * demand.c - see demand.h.
 */
#include "demand.h"

#include <errno.h>

#include "cpu.h"
#include "mutant.h"

#define SLAB_RECORDS 32u

/* Records are allocated a few at a time. */
struct slab {
    struct slab *next;
    struct demand records[SLAB_RECORDS];
};

static struct {
    spinlock_t lock;
    struct slab *slabs; /* (lock) all of them, the newest first */
    unsigned used;      /* (lock) records of the newest */
} demands;

static struct demand *record_alloc_locked(void)
{
    if (demands.slabs == NULL || demands.used == SLAB_RECORDS) {
        struct slab *slab = port_table_alloc(sizeof(struct slab));
        if (slab == NULL) {
            return NULL;
        }
        slab->next = demands.slabs;
        demands.slabs = slab;
        demands.used = 0;
    }
    struct demand *d = &demands.slabs->records[demands.used++];
    *d = (struct demand){0};
    return d;
}

/* The record of t's present life, made if need be. NULL: no memory. */
static struct demand *record_get_locked(const struct thread *t)
{
    struct demand *d = at_load_rlx(&t->id_slot->demand);
    bool made = d == NULL;
    if (made && (d = record_alloc_locked()) == NULL) {
        return NULL;
    }
    if (made || d->life != t->generation) {
        d->life = t->generation;
        d->values = (struct rt_demand){0};
        d->release = 0;
        d->measured = (struct measured){0};
        at_store_rlx(&d->missed, 0u);
    }
    if (made) {
        at_store_rel(&t->id_slot->demand, d); /* ORDER(demand) */
    }
    return d;
}

static bool has_ended(const struct thread *t)
{
    return t == NULL || at_load_acq(&t->state) == THREAD_EXITED; /* ORDER(exit) */
}

static bool is_valid(const struct rt_demand *values)
{
    return values != NULL && values->period_ns <= RT_PERIOD_MAX &&
           (values->period_ns == 0 || values->cost_ns <= values->period_ns);
}

int rt_demand_set(struct thread *t, const struct rt_demand *values)
{
    unsigned long irq;
    if (has_ended(t)) {
        return -ESRCH;
    }
    if (!is_valid(values)) {
        return -EINVAL;
    }
    uint64_t now = port_now();
    rt_enter_lock(&irq, &demands.lock, RANK_DEMAND);
    struct demand *d = record_get_locked(t);
    if (d != NULL) {
        if (d->values.period_ns != values->period_ns) { /* another kind of jobs */
            d->release = now;
            d->measured = (struct measured){0};
            at_store_rlx(&d->missed, 0u);
        }
        d->values = *values;
    }
    rt_leave_unlock(irq, &demands.lock, RANK_DEMAND);
    return d != NULL ? 0 : -ENOMEM;
}

int rt_demand_get(struct thread *t, struct rt_demand *values)
{
    unsigned long irq;
    if (has_ended(t)) {
        return -ESRCH;
    }
    if (values == NULL) {
        return -EINVAL;
    }
    rt_enter_lock(&irq, &demands.lock, RANK_DEMAND);
    const struct demand *d = demand_of(t);
    *values = d != NULL && d->life == t->generation ? d->values : (struct rt_demand){0};
    rt_leave_unlock(irq, &demands.lock, RANK_DEMAND);
    return 0;
}

uint64_t rt_demand_measured(struct thread *t)
{
    unsigned long irq;
    rt_enter_lock(&irq, &demands.lock, RANK_DEMAND);
    const struct demand *d = demand_of(t);
    uint64_t bytes = d != NULL && d->life == t->generation ? d->measured.bytes : 0;
    rt_leave_unlock(irq, &demands.lock, RANK_DEMAND);
    return bytes;
}

int rt_job_next(uint64_t *release)
{
    struct thread *self = rt_self();
    unsigned long irq;
    int error = -EINVAL;
    if (demand_of(self) == NULL) {
        return error;
    }
    misses_job_ends();
    uint64_t now = port_now(), missed = 0;
    rt_enter_lock(&irq, &demands.lock, RANK_DEMAND);
    struct demand *d = demand_of(self);
    uint64_t period = d != NULL && d->life == self->generation ? d->values.period_ns : 0;
    if (period != 0) {
        d->release += period;
        missed = now < d->release ? 0 : (now - d->release) / period + 1;
        d->release += MUTANT(JOB_SKIPS) ? missed * period : 0;
        *release = d->release;
        misses_measure(&d->measured, misses_taken(&d->missed));
        error = 0;
    }
    rt_leave_unlock(irq, &demands.lock, RANK_DEMAND);
    return error != 0 ? error : missed > INT32_MAX ? INT32_MAX : (int)missed;
}

bool demand_read_slow(struct demand *d, uint32_t life, struct demand_now *now)
{
    spin_lock(&demands.lock, RANK_DEMAND);
    bool there = d->life == life;
    if (there) {
        bool measured = d->measured.bytes != 0 && !MUTANT(MEASURED_UNUSED);
        now->working_set = measured ? d->measured.bytes : d->values.working_set;
        now->group = d->values.group;
        now->deadline = d->values.period_ns != 0 ? d->release + d->values.period_ns : 0;
    }
    spin_unlock(&demands.lock, RANK_DEMAND);
    return there;
}

void demands_forked(void)
{
    at_init(&demands.lock.word, 0u);
    for (struct slab *slab = demands.slabs; slab != NULL; slab = slab->next) {
        for (unsigned i = 0; i < SLAB_RECORDS; i++) {
            slab->records[i].link.next = NULL;
        }
    }
}

void demands_reset(void)
{
    while (demands.slabs != NULL) {
        struct slab *slab = demands.slabs;
        demands.slabs = slab->next;
        port_table_free(slab, sizeof(struct slab));
    }
    demands.used = 0;
    misses_stop();
    at_init(&demands.lock.word, 0u);
}
