/* SPDX-License-Identifier: MIT */
/*
 * capacity.c - see capacity.h.
 */
#include "capacity.h"

#include "mutant.h"
#include "switch.h"
#include "wake.h"

#if RT_CAPACITIES
const struct sched_capacity *rt_capacity_way;

void capacities_begin(void)
{
    rt.by_capacity = false;
    rt.asymmetric = false;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (rt.capacity[i] == 0) {
            rt.capacity[i] = (uint16_t)port_cpu_capacity(i);
        }
        RT_ASSERT(rt.capacity[i] >= 1 && rt.capacity[i] <= PORT_CAPACITY_MAX);
        rt.asymmetric = rt.asymmetric || rt.capacity[i] != rt.capacity[0];
    }
}

/* Of the CPUs that sleep and are unclaimed the fastest, if that is faster than `least`. Of equals
 * the next one after `from`. */
static struct cpu *fastest_sleeper(unsigned from, unsigned least)
{
    unsigned best = RT_MAX_CPUS;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        unsigned id = (from + i) % rt.ncpu;
        if (rt_cpu_sleeps(id) && rt_capacity(id) > least) {
            best = id;
            least = rt_capacity(id);
        }
    }
    return best != RT_MAX_CPUS ? rt.cpus[best] : NULL;
}

struct cpu *capacity_sleeper(const struct cpu *self)
{
    return fastest_sleeper(self != NULL ? self->id : 0, 0);
}

struct cpu *capacity_faster_sleeper(const struct cpu *self)
{
    return fastest_sleeper(self->id, 9 * rt_capacity(self->id) / 8);
}

uint32_t takeover_ask(struct cpu *self, struct cpu *source)
{
    uint32_t before = 0;
    if (at_cas_acq_rel(&source->asker, &before, self->id + 1)) { /* ORDER(takeover) */
        rt_preempt_cpu(self, source->id);
    }
    return before;
}

void takeover_withdraw(struct cpu *self, struct cpu *source)
{
    uint32_t mine = self->id + 1;
    at_cas_acq_rel(&source->asker, &mine, 0u); /* ORDER(takeover) */
}

/* Who asks this CPU; NULL: nobody. */
static struct cpu *asker_take(struct cpu *cpu)
{
    uint32_t asker = at_xchg_acq(&cpu->asker, 0u); /* ORDER(takeover) */
    return asker != 0 ? rt.cpus[asker - 1] : NULL;
}

bool takeover_gives_asked(struct cpu *cpu)
{
    struct cpu *asker = asker_take(cpu);
    struct thread *t = cpu->current;
    if (asker == NULL || (t->flags & THREAD_IDLE) || rt_capacity_way == NULL ||
        MUTANT(GIVE_NEVER) || !rt_capacity_way->may_give(cpu, t, asker)) {
        return false;
    }
    switch_to(cpu, cpu->idle, POST_GIVE, asker);
    return true;
}

void takeover_drop(struct cpu *cpu)
{
    struct cpu *asker = asker_take(cpu);
    if (asker != NULL) {
        rt_kick_cpu(cpu, asker->id);
    }
}

void finish_give(struct cpu *cpu, struct thread *prev, struct cpu *asker)
{
    thread_set_state(prev, THREAD_READY);
    trace_wake(cpu, prev, PIRN_WHY_PREEMPT);
    uint64_t ticket = ready_give(cpu, prev);
    rt_capacity_way->give(cpu, prev, asker);
    ready_given(cpu, ticket, (struct pirn_kick){.cpu = PIRN_KICK_ANY});
    waker_fence(); /* ORDER(idle-wake) */
    rt_kick_cpu(cpu, asker->id);
    rt_kick_any(cpu);
}

#endif
