/* SPDX-License-Identifier: MIT */
/*
 * blocked.c (simulator) - threads that sleep in the system, and lose their CPU there without having
 * said so.
 */
#include "../../../src/core/carrier.h"
#include "../../../src/core/mutant.h"
#include "sim_internal.h"

void sim_block(uint32_t ns)
{
    sim_context_wait(&sim.contexts[sim_current], sim.now + ns);
}

/* A handler on the carrier's signal stack, with a mask that keeps everything else out. */
bool sim_surprise(void)
{
    struct context *c = &sim.contexts[sim_current];
    sim_point(46, 0);
    if (c->cpu == NULL) {
        return false;
    }
    unsigned long irq = MUTANT(BELL_OPEN) ? 0 : sim_irq_save();
    c->on_signal_stack = true;
    bool gone = rt_call_surprised();
    c->on_signal_stack = false;
    sim_irq_restore(irq);
    return gone;
}
