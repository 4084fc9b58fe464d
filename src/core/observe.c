/* SPDX-License-Identifier: MIT */
/*
 * observe.c - hooks to which two listen, the event trace and the profile of waits: called by the
 * hooks of trace.h (OBSERVED_HOOK) while any of the two is on.
 */
#include <pirn/policy.h>

#include "../prof/prof.h"
#include "../trace/trace.h"
#include "cpu.h"
#include "thread.h"

const char *thread_wait_name(uint32_t reason)
{
    static const char *const names[] = {
        [WAIT_NONE] = "nothing",    [WAIT_MUTEX] = "mutex",     [WAIT_COND] = "cond",
        [WAIT_SEM] = "sem",         [WAIT_RDLOCK] = "rdlock",   [WAIT_WRLOCK] = "wrlock",
        [WAIT_BARRIER] = "barrier", [WAIT_ONCE] = "once",       [WAIT_JOIN] = "join",
        [WAIT_SLEEP] = "sleep",     [WAIT_FE_FULL] = "fe_full", [WAIT_FE_EMPTY] = "fe_empty",
        [WAIT_CALL] = "call",       [WAIT_IO] = "io",           [WAIT_SIGNAL] = "signal",
        [WAIT_FUTEX] = "futex",     [WAIT_FLAGS] = "flags",     [WAIT_MESSAGE] = "message",
        [WAIT_ROOM] = "room",       [WAIT_TIMER] = "timer",     [WAIT_POLL] = "poll",
        [WAIT_LABEL] = "label",
    };
    _Static_assert(ARRAY_SIZE(names) == WAIT_REASONS, "each has a name");
    return reason < ARRAY_SIZE(names) ? names[reason] : "corrupt";
}

static bool waits_are_on(void)
{
    return RT_WAITS && (trace_listeners() & TRACE_TO_WAITS) != 0;
}

void rt_observe_switch(const struct cpu *cpu, struct thread *prev, unsigned post)
{
    if (trace_is_on()) {
        trace_switch_on(cpu, prev, post);
    }
    if (waits_are_on()) {
        prof_waits_switch(cpu, prev, post);
    }
}

void rt_observe_wake(const struct cpu *cpu, struct thread *t, unsigned why)
{
    if (trace_is_on()) {
        trace_wake_on(cpu, t, why);
    }
    if (waits_are_on()) {
        prof_waits_wake(cpu, t, why);
    }
}

void rt_observe_call(const struct cpu *cpu, struct thread *t, bool taken)
{
    if (trace_is_on()) {
        trace_call_on(cpu, t, taken);
    }
    if (waits_are_on()) {
        prof_waits_call(t);
    }
}

void rt_observe_called(const struct cpu *cpu, struct thread *t)
{
    if (trace_is_on()) {
        trace_called_on(cpu, t);
    }
    if (waits_are_on()) {
        prof_waits_called(cpu, t);
    }
}

void rt_observe_unpark(const struct cpu *cpu, struct thread *t)
{
    if (waits_are_on()) {
        prof_waits_wake(cpu, t, PIRN_WHY_WAKE);
    }
}

/* A thread that waits without a CPU begins to, or is back. */
void rt_observe_park(struct thread *t, bool in)
{
    if (waits_are_on()) {
        prof_waits_park(t, in);
    }
}
