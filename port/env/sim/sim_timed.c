/* SPDX-License-Identifier: MIT */
/*
 * sim_timed.c - the timed mode (sim_timed.h): what things cost, and which context goes on.
 *
 * Invariants:
 *   1. The running context's clock is sim.now, and is not above `horizon` when it does anything
 *      that others can see: at each scheduling point the one with the lowest clock goes on. So all
 *      effects come in the order of their times.
 *   2. No context that is runnable, or waits for a time, may go on before `horizon`, except the
 *      running one.
 */
#include <string.h>

#include "atomic_sim.h"
#include "port_preempt.h"
#include "sim_clock.h"

/* Seen as sim_point has it: sim_mem.c adds the order to these. */
enum { FIRST_LOAD = 1, FIRST_STORE = 8, FIRST_RMW = 16, FIRST_FENCE = 32 };

#define PS 1000u /* in a nanosecond */

const struct sim_timing sim_timing_linux = {
    .access_ps = 1300,
    .atomic_ps = 7000,
    .step_ps = 2000,
    .relax_ns = 40,
    .yield_ns = 400,
    .switch_ns = 10,
    .barrier_ns = 2500,
    .kick_ns = 1000,
    .wake_ns = 4000,
    .tick_ns = 2000,
};

/* How a CPU searches for work, core/search.h: short where schedules are explored, and in some of
 * them as with many CPUs; in timed runs as on Linux. */
static const struct sim_search search_explored = {200, 100, 1000, 4000, 8000, 16, 16};
static const struct sim_search search_many = {200, 100, 1000, 4000, 8000, 1, 2};
static const struct sim_search search_timed = {20000,      50000, 10000000, 200000000,
                                               1000000000, 16,    16};
const struct sim_search *sim_search = &search_explored;

struct sim_bias sim_bias;

static struct {
    uint64_t horizon;
    uint64_t due[SIM_CONTEXTS]; /* when each may go on; of the running one not up to date */
    uint64_t tick_ns, tick_due[RT_MAX_CPUS];
} timed;

void timed_begin(void)
{
    sim_search = sim_is_timed()             ? &search_timed
                 : sim.config.seed % 4 == 1 ? &search_many
                                            : &search_explored;
    sim_bias.kept = sim_is_timed() || sim.config.seed % 4 != 0;
    sim_bias.back = sim_is_timed() ? 500 : 1 + sim.config.seed % 3;
    timed.horizon = 0;
    timed.tick_ns = 0;
    misses_begin();
    if (sim_is_timed()) {
        sim.pct = false;
        sim.tls = false;
        usage_begin();
    }
}

/* ---- time that passes ---- */

void timed_spend(uint64_t ps)
{
    struct context *c = &sim.contexts[sim_current];
    ps += c->clock_ps;
    sim.now += ps / PS;
    c->clock_ps = (uint32_t)(ps % PS);
}

static uint64_t atomic_ps(uint32_t what, uint32_t location)
{
    bool write = what >= FIRST_STORE, locked = what >= FIRST_RMW;
    uint64_t ps = usage_access(sim_mem_address(location), write, false);
    return ps + (locked ? sim.config.timed->atomic_ps : 0);
}

static uint64_t fence_ps(uint32_t kind)
{
    return kind == SIM_FENCE_SEQ     ? sim.config.timed->atomic_ps
           : kind == SIM_FENCE_HEAVY ? (uint64_t)sim.config.timed->barrier_ns * PS
                                     : 0;
}

void timed_pass(uint32_t what, uint32_t detail)
{
    uint64_t ps = sim.config.timed->step_ps;
    if (what >= FIRST_LOAD && what < FIRST_FENCE) {
        ps += atomic_ps(what, detail);
    } else if (what == POINT_PERMIT) {
        ps += (uint64_t)sim.config.timed->kick_ns * PS;
    } else if (what <= FIRST_FENCE + SIM_FENCE_RMW) {
        ps += fence_ps(what - FIRST_FENCE);
    }
    timed_spend(ps);
}

void timed_relax(unsigned round)
{
    const struct sim_timing *t = sim.config.timed;
    timed_spend((uint64_t)(round == UINT32_MAX ? t->yield_ns : t->relax_ns) * PS);
}

/* ---- whose turn it is ---- */

/* When the context may go on; UINT64_MAX: it waits for others. */
static uint64_t due_of(const struct context *c)
{
    uint64_t time = c->deadline;
    if (c->state == CTX_RUNNABLE) {
        return c->clock;
    }
    if (c->state != CTX_WAITING) {
        return UINT64_MAX;
    }
    if (c->permit && c->permit_at < time) {
        time = c->permit_at;
    }
    return time > c->clock ? time : c->clock;
}

void timed_update(struct context *c)
{
    uint64_t due = due_of(c);
    timed.due[c - sim.contexts] = due;
    timed.horizon = due < timed.horizon ? due : timed.horizon;
}

/* Among `equal` contexts, of which one more has been found: is it to be that one? */
static bool tie_goes(unsigned equal)
{
    return !sim.config.timed->by_number && sim_choose(equal) == 0;
}

unsigned timed_next(void)
{
    struct context *self = &sim.contexts[sim_current];
    uint64_t first = UINT64_MAX, second = UINT64_MAX;
    unsigned best = SIM_CONTEXTS, equal = 0;
    if (self->state == CTX_RUNNABLE && sim.now < timed.horizon) {
        return sim_current;
    }
    self->clock = sim.now;
    timed.due[sim_current] = due_of(self);
    for (unsigned i = 0; i < sim_ncontexts; i++) {
        uint64_t time = timed.due[i];
        if (time == UINT64_MAX) {
            continue;
        }
        equal = time == first ? equal + 1 : time < first ? 1 : equal;
        bool goes = time < first || (time == first && tie_goes(equal));
        second = time < first ? first : time < second ? time : second;
        first = time < first ? time : first;
        best = goes ? i : best;
    }
    if (best != SIM_CONTEXTS && sim.contexts[best].state == CTX_WAITING) {
        context_set_state(&sim.contexts[best], CTX_RUNNABLE);
    }
    sim.now = best != SIM_CONTEXTS ? first : sim.now;
    timed.horizon = second;
    return best;
}

void timed_permit(struct context *c)
{
    uint64_t at = sim.now + sim.config.timed->wake_ns;
    c->permit_at = c->permit && c->permit_at < at ? c->permit_at : at;
}

const char *timed_option(const char *name)
{
    const struct sim_timing *t = sim.config.timed;
    return strcmp(name, "tick") == 0    ? t->tick
           : strcmp(name, "slice") == 0 ? t->slice
           : strcmp(name, "nodes") == 0 ? t->nodes
                                        : NULL;
}

/* ---- ticks ---- */

void timed_ticks_start(uint64_t ns)
{
    timed.tick_ns = ns;
    for (unsigned i = 0; i < RT_MAX_CPUS; i++) {
        timed.tick_due[i] = sim.now + ns;
    }
}

bool timed_tick(void)
{
    unsigned id = sim.contexts[sim_current].cpu->id;
    if (id >= RT_MAX_CPUS || sim.now < timed.tick_due[id]) {
        return false;
    }
    timed_spend((uint64_t)sim.config.timed->tick_ns * PS);
    timed.tick_due[id] = sim.now + timed.tick_ns;
    return true;
}

/* How far the running CPU may compute without a look at its ticks, at most `ps`. */
static uint64_t until_tick(uint64_t ps)
{
    const struct cpu *cpu = sim.contexts[sim_current].cpu;
    if (!sim.preempt || cpu == NULL || cpu->id >= RT_MAX_CPUS) {
        return ps;
    }
    uint64_t at = timed.tick_due[cpu->id], rest = at > sim.now ? (at - sim.now) * PS : PS;
    return rest < ps ? rest : ps;
}

/* ---- programs ---- */

/* In the program's own code. Afterwards the thread may be on another CPU. */
static void user_point(void)
{
    sim.steps++;
    sim_check_steps();
    sim_switch(false);
    sim_interrupt();
}

void sim_touch(const volatile void *at, size_t bytes, bool write)
{
    const volatile char *p = at, *end = p + bytes;
    if (!sim_is_timed()) {
        sim_pause();
        return;
    }
    for (p -= (uintptr_t)p % CACHES_LINE; p < end; p += CACHES_LINE) {
        timed_spend(usage_access(p, write, true));
        user_point();
    }
}

void sim_compute(uint64_t ps)
{
    if (!sim_is_timed()) {
        sim_pause();
        return;
    }
    while (ps != 0) {
        uint64_t part = until_tick(ps);
        timed_spend(part);
        user_point();
        ps -= part;
    }
}
