/* SPDX-License-Identifier: MIT */
/*
 * sim_blocked.c (simulator) - threads that sleep in the system, and lose their CPU there without
 * having said so, or at a tick where they cannot be switched.
 */
#include "../../../src/core/carrier.h"
#include "../../../src/core/mutant.h"
#include "port_calls.h"
#include "sim_internal.h"

void sim_block(uint32_t ns)
{
    sim_context_wait(&sim.contexts[sim_current], sim.now + ns);
}

/* A handler on the carrier's signal stack, with a mask that keeps everything else out. */
static bool on_signal_stack(bool (*fn)(void))
{
    struct context *c = &sim.contexts[sim_current];
    unsigned long irq = MUTANT(BELL_OPEN) ? 0 : sim_irq_save();
    c->on_signal_stack = true;
    bool result = fn();
    c->on_signal_stack = false;
    sim_irq_restore(irq);
    return result;
}

bool sim_unannounced(void)
{
    sim_point(46, 0);
    return sim.contexts[sim_current].cpu != NULL && on_signal_stack(rt_call_unannounced);
}

static bool preempt_away(void)
{
    return rt_preempt_away() == RT_ROOM_MADE;
}

void sim_away(void)
{
    if (rt_left_may_return()) {
        rt_left_returns();
    } else {
        on_signal_stack(preempt_away);
    }
}
