/* SPDX-License-Identifier: MIT */
/*
 * call_sleep.c - see call_sleep.h.
 */
#include "call_sleep.h"

#include "../trace/trace.h"
#include "idle.h"
#include "mutant.h"
#include "port_calls.h"
#include "port_io.h"
#include "runtime.h"
#include "switch.h"
#include "timer.h"
#include "wake.h"

#if PORT_CALLS_BLOCK

/* Not where faster CPUs take threads from slower ones: they look at sleeping ones (capacity.h). */
bool call_may_sleep(void)
{
    return !rt.by_capacity;
}

/* Whoever gets true owns the CPU. The other takers' claims do not count any more. */
static bool ticket_take(struct cpu *cpu, uint32_t ticket)
{
    return at_cas_acq(&cpu->call, &ticket, 0u); /* ORDER(call) */
}

static struct carrier *spare_of(struct cpu *cpu)
{
    struct carrier *k = *cpu->spare;
    RT_ASSERT(k != NULL && at_load_rlx(&k->cpu) == NULL);
    *cpu->spare = NULL;
    return k;
}

/* Its spare goes on searching for work: the CPU counts as searching, by this claim or that of a
 * waker. */
static void wake_on_spare(struct cpu *cpu)
{
    rt_idle_claim(cpu->id);
    port_cpu_stirs();
    carrier_give(spare_of(cpu), cpu);
}

/* For observers the CPU runs its idle thread from here on. */
static void looks_idle(struct cpu *cpu)
{
    cpu->current = cpu->idle;
    trace_carry(cpu);
    trace_idle(cpu, true);
    trace_sleep(cpu, true);
    idle_time_begin(cpu, RT_TIMED ? port_now() : 0);
}

static void looks_busy(struct cpu *cpu, struct thread *self)
{
    trace_sleep(cpu, false);
    idle_time_end(cpu, RT_TIMED ? port_now() : 0);
    trace_idle(cpu, false);
    cpu->current = self;
    if (self->cpu != cpu) {
        trace_migrate(cpu, cpu->idle, self);
        self->cpu = cpu;
        STAT_INC(&cpu->stats.migrations);
    }
    CPU_COUNT_SWITCH(cpu);
    trace_switch(cpu, cpu->idle, POST_NONE);
}

bool call_sleep_begin(struct cpu *cpu, struct thread *self, struct carrier *spare, uint32_t number)
{
    uint32_t ticket = number | CALL_ASLEEP, entering = ticket | CALL_ENTERING;
    RT_ASSERT(cpu->current == self && at_peek(&cpu->call) == 0 && *cpu->spare == NULL);
    *cpu->spare = spare;
    *cpu->slept = true;
    timers_tell(cpu);
    looks_idle(cpu);
    if (RT_POLICY.idle_enter != NULL) {
        RT_POLICY.idle_enter(cpu);
    }
    at_store_rlx(&cpu->call, entering);
    idle_announce(cpu, false);
    bool work = !MUTANT(CALL_SLEEP_BLIND) && rt_has_work(cpu);
    port_io_attend();
    STAT_INC(&cpu->stats.sleeps);
    cpu->current = self; /* whom the port expects */
    port_cpu_leave(self);
    cpu->current = cpu->idle;
    if (!work && at_cas_rel(&cpu->call, &entering, ticket)) { /* ORDER(call) */
        return true;
    }
    at_store_rlx(&cpu->call, 0u);
    wake_on_spare(cpu);
    return false;
}

bool call_sleep_kick(struct cpu *cpu)
{
    uint32_t ticket = at_load_rlx(&cpu->call); /* stored before the announcement that was claimed */
    while (call_is_asleep(ticket) && !MUTANT(CALL_SLEEP_DEAF)) {
        uint32_t wanted = ticket & CALL_ENTERING ? ticket | CALL_KICKED : 0;
        if (wanted == ticket) {
            return true;
        }
        if (at_cas_acq(&cpu->call, &ticket, wanted)) { /* ORDER(call) */
            if (wanted == 0) {
                wake_on_spare(cpu);
            }
            return true;
        }
    }
    return false;
}

/* It has not been counted as searching, unless a waker has claimed it. */
static void announcement_end(struct cpu *cpu)
{
    uint32_t bit = 1u << (cpu->id % 32);
    if (at_and_acq_rel(&rt.idle_map[cpu->id / 32], ~bit) & bit) { /* ORDER(idle-claim) */
        at_sub_acq_rel(&rt.idle_word, RT_SLEEPING);               /* ORDER(idle-wake) */
    } else if (!MUTANT(CALL_SLEEP_COUNT)) {
        idle_found(cpu);
    }
}

/* The caller owns the CPU, and is on the carrier that executes it. False: the policy does not let
 * the thread run at once. Then it is queued, from limbo, and the carrier goes on with the CPU. */
static bool owner_runs(struct cpu *cpu, struct thread *self)
{
    port_cpu_stirs();
    if (at_is_set_rlx(&cpu->pending)) {
        rt_service(cpu);
    }
    if (RT_POLICY.direct == NULL || !RT_POLICY.direct(cpu, self)) {
        rt_idle_claim(cpu->id);
        *cpu->carrier->kept = cpu;
        cpu->current = self; /* whom the port expects */
        port_cpu_leave(self);
        cpu->current = cpu->idle;
        return false;
    }
    *cpu->slept = false;
    announcement_end(cpu);
    if (RT_POLICY.idle_exit != NULL) {
        RT_POLICY.idle_exit(cpu);
    }
    ready_run(cpu, self);
    trace_called(NULL, self);
    looks_busy(cpu, self);
    return true;
}

bool call_sleep_end(struct cpu *cpu, struct thread *self, uint32_t ticket)
{
    if (!ticket_take(cpu, ticket)) {
        return false;
    }
    spare_put(spare_of(cpu));
    port_cpu_back(cpu);
    return owner_runs(cpu, self);
}

bool call_sleep_adopt(struct thread *self)
{
    if (RT_POLICY.pinned || RT_POLICY.direct == NULL) {
        return false;
    }
    unsigned first = self->cpu != NULL ? self->cpu->id % rt.ncpu : 0; /* it may be a limbo */
    for (unsigned i = 0; i < rt.ncpu; i++) {
        struct cpu *cpu = rt.cpus[(first + i) % rt.ncpu];
        uint32_t ticket = at_load_rlx(&cpu->call);
        if (call_is_asleep(ticket) && !(ticket & CALL_ENTERING) && ticket_take(cpu, ticket)) {
            spare_put(spare_of(cpu));
            cpu->current = &self->carrier->idle;
            at_store_rlx(&self->carrier->cpu, cpu);
            carrier_carry(self->carrier, cpu);
            return owner_runs(cpu, self);
        }
    }
    return false;
}

#endif
