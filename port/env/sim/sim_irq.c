/* SPDX-License-Identifier: MIT */
/*
 * sim_irq.c (simulator) - interrupts of a virtual CPU: keeping them out, ticks where the runtime or
 * the test lets them in, and what has waited meanwhile.
 */
#include "../../src/core/runtime.h"
#include "port_preempt.h"
#include "port_signals.h"
#include "port_trace.h"
#include "sim_clock.h"

/* Most ticks come after one another or long after: choose at random. In timed runs they come when
 * they are due. */
static bool tick_comes(void)
{
    return sim_is_timed() ? timed_tick() : sim_choose(8) == 0;
}

/* A tick in the middle of a user thread, at a point where the runtime lets it in. */
void sim_interrupt(void)
{
    struct context *c = &sim.contexts[sim_current];
    if (!sim.preempt || c->cpu == NULL || c->irq_off != 0 || !tick_comes()) {
        return;
    }
    sim_point(44, 0);
    unsigned long irq = sim_irq_save();
    rt_tick_begins();
    rt_tick_ends(true);
    rt_preempt();
    sim.contexts[sim_current].irq_off = (unsigned)irq;
    sim_point(45, 0);
}

void sim_part(void)
{
    unsigned long irq;
    rt_self(); /* it may have lost its CPU */
    rt_enter(&irq);
    rt_tick_begins();
    rt_tick_ends(false);
    rt_leave(irq);
}

void sim_preempts(bool on)
{
    sim.preempt = on;
}

/* In the test's own work a tick may also take the CPU away, as in the C library. */
void sim_pause(void)
{
    sim_point(40, 0);
    if (sim_is_timed() || !sim.preempt || sim.contexts[sim_current].irq_off != 0 ||
        sim_choose(16) != 0) {
        sim_interrupt();
    } else {
        sim_away();
    }
    if (sim_kernel.user != NULL) {
        sim_kernel.user();
    }
}

struct cpu *sim_cpu_self(void)
{
    return sim.contexts[sim_current].cpu;
}

unsigned long sim_irq_save(void)
{
    struct context *c = &sim.contexts[sim_current];
    unsigned long old = c->irq_off;
    c->irq_off = 1;
    return old;
}

bool sim_irq_is_off(void)
{
    return sim.contexts[sim_current].irq_off != 0;
}

void sim_irq_disabled(void)
{
    if (sim_irq_save() != 0) {
        RT_PANIC("interrupts are disabled already");
    }
}

void sim_irq_restore(unsigned long state)
{
    struct context *c = &sim.contexts[sim_current];
    c->irq_off = (unsigned)state;
    if (state == 0 && sim_active) {
        sim_oracle();
        sim_point(41, 0);
        sim_interrupt();
        if (sim_kernel.leaves != NULL) {
            sim_kernel.leaves();
        } else if (rt_signalled() && sim_choose(4) != 0) {
            rt_signals_left();
        }
    }
}
