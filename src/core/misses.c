/* SPDX-License-Identifier: MIT */
/*
 * misses.c - see misses.h.
 */
#include "misses.h"

#include "cpu.h"
#include "demand.h"
#include "mutant.h"

struct measuring measuring;

const char *misses_start(uint64_t cache)
{
    const char *refusal = port_misses_refusal();
    measuring =
        (struct measuring){.on = refusal == NULL, .cache = cache, .line = port_misses_line()};
    return refusal;
}

void misses_stop(void)
{
    measuring.on = false;
}

/* Of threads with demands only: the others have no record, and no jobs. */
void misses_charge(struct cpu *self)
{
    const struct thread *t = self->current;
    struct port_misses since = port_misses_take(self);
    struct demand *d = (t->flags & THREAD_IDLE) ? NULL : demand_of(t);
    if (d != NULL) {
        uint64_t sum = at_load_rlx(&d->missed) + since.misses;
        at_store_rlx(&d->missed, sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX);
    }
}

void misses_job_ends(void)
{
    unsigned long irq;
    if (!measuring.on) {
        return;
    }
    struct cpu *self = rt_enter(&irq);
    if (self != NULL) { /* it has lost its CPU: what it has missed since then is not counted */
        misses_charge(self);
    }
    rt_leave(irq);
}

uint32_t misses_taken(_Atomic(uint32_t) *missed)
{
    uint32_t n = at_load_rlx(missed);
    if (!MUTANT(JOB_ADDS)) {
        at_store_rlx(missed, 0u);
    }
    return n;
}

static void smooth(struct measured *m, uint64_t bytes)
{
    bytes = bytes < measuring.line ? measuring.line : bytes;
    bytes = bytes < measuring.cache || MUTANT(JOB_THRASHES) ? bytes : measuring.cache;
    if (m->bytes == 0) {
        m->bytes = bytes;
    } else if (bytes > m->bytes) {
        m->bytes += (bytes - m->bytes + 1) / 2;
    } else {
        m->bytes -= (m->bytes - bytes) / 8;
    }
    m->thrashed = 0;
}

void misses_measure(struct measured *m, uint32_t missed)
{
    uint64_t bytes = (uint64_t)missed * measuring.line;
    if (!measuring.on) {
        return;
    }
    if (bytes <= measuring.cache || MUTANT(JOB_THRASHES)) {
        smooth(m, bytes);
    } else if (++m->thrashed == MISSES_THRASH_MOST) {
        m->bytes = measuring.cache;
        m->thrashed = 0;
    }
}
