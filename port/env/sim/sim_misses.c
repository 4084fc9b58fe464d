/* SPDX-License-Identifier: MIT */
/*
 * sim_misses.c - misses of the shared cache, port_misses.h.
 *
 * A timed run with a topology counts what the model's cores miss of their last level; the work is
 * their accesses. As in a processor's counters, those of the runtime are among them. In other runs
 * there are no caches: the program says what it misses (sim_misses).
 */
#include "../../../src/core/demand.h"
#include "port_misses.h"
#include "sim_clock.h"

static struct port_misses told[RT_MAX_CPUS], taken[RT_MAX_CPUS];

void misses_begin(void)
{
    memset(told, 0, sizeof(told));
    memset(taken, 0, sizeof(taken));
}

bool sim_misses(uint64_t misses, uint64_t work)
{
    const struct cpu *cpu = sim_cpu_self();
    if (cpu == NULL || cpu->id == RT_NO_CPU) {
        return false;
    }
    told[cpu->id].misses += misses;
    told[cpu->id].work += work;
    return true;
}

uint64_t sim_measured(void)
{
    return rt_demand_measured(rt_self());
}

const char *port_misses_refusal(void)
{
    return sim_is_timed() && sim_caches() == NULL ? "the simulated machine has no caches" : NULL;
}

uint32_t port_misses_line(void)
{
    return CACHES_LINE;
}

static struct port_misses counted(unsigned id)
{
    if (!sim_is_timed()) {
        return told[id];
    }
    const struct caches_counts *c = caches_core(sim_caches(), id);
    return (struct port_misses){.misses = caches_misses(c, false, CACHES_LLC) +
                                          caches_misses(c, true, CACHES_LLC),
                                .work = caches_accesses(c, false) + caches_accesses(c, true)};
}

struct port_misses port_misses_take(struct cpu *self)
{
    RT_ASSERT(self == sim_cpu_self());
    struct port_misses now = counted(self->id), *before = &taken[self->id];
    struct port_misses since = {now.misses - before->misses, now.work - before->work};
    *before = now;
    return since;
}
