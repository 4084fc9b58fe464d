/* SPDX-License-Identifier: MIT */
/*
 * example.c - the worked example of docs/POLICY.md: organization "home".
 *
 * A ready queue for each CPU, under a spin lock each. A thread goes back to the CPU it ran on last,
 * whose cache may still hold its data; a CPU without work looks through the queues of the others.
 */
#include "example.h"

#include "cpu.h"
#include "runq_fifo.h"

static struct {
    spinlock_t lock ALIGNED(RT_CACHELINE);
    struct runq q; /* (lock) */
} home[RT_MAX_CPUS];

static int home_init(unsigned ncpu)
{
    for (unsigned i = 0; i < ncpu; i++) {
        at_init(&home[i].lock.word, 0u);
        runq_init(&home[i].q, false);
    }
    return 0;
}

static struct sched_kick home_enqueue(struct cpu *self, struct thread *t, enum sched_why why)
{
    unsigned k = t->cpu != NULL ? t->cpu->id : self != NULL ? self->id : 0;
    spin_lock(&home[k].lock, RANK_RUNQ);
    runq_push_locked(&home[k].q, t, runq_to_head(&home[k].q, why));
    spin_unlock(&home[k].lock, RANK_RUNQ);
    return (struct sched_kick){.cpu = SCHED_KICK_ANY};
}

static struct thread *take(unsigned k)
{
    if (runq_estimate(&home[k].q) == 0) {
        return NULL;
    }
    spin_lock(&home[k].lock, RANK_RUNQ);
    struct thread *t = runq_pop_locked(&home[k].q);
    spin_unlock(&home[k].lock, RANK_RUNQ);
    return t;
}

static struct thread *home_pick(struct cpu *self)
{
    return take(self->id);
}

static struct thread *home_search(struct cpu *self)
{
    struct thread *t = NULL;
    for (unsigned k = 1; k < rt.ncpu && t == NULL; k++) {
        t = take((self->id + k) % rt.ncpu);
    }
    return t;
}

/* Which queue a ready thread is in is not recorded: decline. */
static bool home_remove(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return false;
}

static bool home_has_work(struct cpu *self)
{
    (void)self;
    for (unsigned k = 0; k < rt.ncpu; k++) {
        if (runq_estimate(&home[k].q) != 0) {
            return true;
        }
    }
    return false;
}

const struct sched_policy sched_home = {
    .name = "home",
    .help = "a thread goes back to the CPU that it ran on last",
    .init = home_init,
    .enqueue = home_enqueue,
    .pick = home_pick,
    .search = home_search,
    .remove = home_remove,
    .has_work = home_has_work,
};
