/* SPDX-License-Identifier: MIT */
/*
 * robust.c - the mutexes that a thread holds when it ends. omutex.c has the invariants, and for
 * mutexes between processes shared_robust.c.
 *
 * A robust one goes to the next owner, which learns of it (OM_DIED, -EOWNERDEAD). Any other stays
 * locked for ever, as POSIX says. Its word then names no thread, because another thread will get
 * this index, and its waiters boost nobody.
 */
#include <errno.h>

#include "mutant.h"
#include "omutex.h"
#include "shared.h"

int rt_omutex_consistent(struct rt_omutex *m)
{
    uint32_t word = at_load_rlx(&m->word);
    if (!(m->kind & OM_ROBUST) || !(word & OM_DIED) || (word & OM_OWNER) != rt_identity()->index) {
        return -EINVAL;
    }
    /* Waiters may be marking the word meanwhile. */
    at_and_acq_rel(&m->word, ~OM_DIED); /* ORDER(mutex) */
    return 0;
}

/* Other threads only set OM_WAITERS in the word, which needs the lock. */
static void abandon(struct rt_omutex *m, struct thread *self)
{
    prio_lock();
    RT_ASSERT((at_peek(&m->word) & OM_OWNER) == self->index);
    if (m->kind & OM_INHERIT) {
        prio_orphan_locked(&m->leader, self);
    }
    at_store_rlx(&m->word, OM_GONE | (at_load_rlx(&m->word) & OM_WAITERS));
    prio_unlock();
}

static void end_one(struct cpu *cpu, struct rt_omutex *m, struct thread *self)
{
    if (!(m->kind & OM_ROBUST)) {
        abandon(m, self);
    } else if (!MUTANT(ROBUST_FORGET)) {
        rt_omutex_release_irqoff(cpu, m, self, OM_DIED);
    }
}

void rt_held_end(struct thread *self)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    struct rt_omutex *m;
    RT_ASSERT(cpu == NULL || cpu->current == self);
    while ((m = self->held) != NULL) {
        self->held = m->next; /* m belongs to another thread once it is given up */
        if (PORT_PROCESSES && (m->kind & MUTEX_SHARED)) {
            rt_robust_end(m);
        } else {
            RT_ASSERT((at_peek(&m->word) & OM_OWNER) == self->index);
            end_one(cpu, m, self);
        }
    }
    RT_ASSERT(self->boosters == NULL || MUTANT(ROBUST_FORGET));
    if (self->ceiling != 0) {
        prio_set_ceiling(self, 0);
    }
    rt_leave(irq);
}
