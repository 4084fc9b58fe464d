/* SPDX-License-Identifier: MIT */
/*
 * line.c - see line.h.
 */
#include "line.h"

#if RT_HARDWARE
#include "../trace/trace.h"
#include "switch.h"

/* The argument of POST_LINE: the line, and in bit 0 the state. */
_Static_assert(_Alignof(struct port_line) >= 2, "bit 0 of its address is free");

static void *line_to_post(struct port_line *l, bool full)
{
    return (void *)((uintptr_t)l | full);
}

bool line_wait(struct cpu *cpu, struct port_line *l, bool full, uint8_t reason, const void *object)
{
    struct thread *self = cpu->current;
    RT_ASSERT(rt_is_inside() && lockrank_none_held());
    self->wait_reason = reason;
    self->wait_object = object;
    self->claimable = 0;
    self->wait_kind = 1; /* until finish_line says otherwise: kept */
    thread_set_state(self, THREAD_BLOCKED);
    trace_block(cpu, self);
    struct thread *next = rt_pick(cpu);
    switch_from(cpu, self, next != NULL ? next : cpu->idle, POST_LINE, line_to_post(l, full));
    self->wait_reason = WAIT_NONE;
    return self->wait_kind != 0;
}

void finish_line(struct cpu *cpu, struct thread *prev, void *arg)
{
    struct port_line *l = (struct port_line *)((uintptr_t)arg & ~(uintptr_t)1);
    bool full = ((uintptr_t)arg & 1) != 0;
    if (!port_line_wait(l, full, prev)) { /* ORDER(hw) */
        prev->wait_kind = 0;
        if (!MUTANT(LINE_DROP)) {
            rt_wake(cpu, prev, PIRN_WHY_WAKE);
        }
    }
}
#endif
