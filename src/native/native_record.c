/* SPDX-License-Identifier: MIT */
/* native_record.c - records in the event trace that concern several processes: <pirn/record.h>. */
#include <pirn/record.h>

#include "../trace/trace.h"
#include "cpu.h"
#include "runtime.h"

EXPORT bool pirn_recording(void)
{
    return trace_is_on();
}

EXPORT void pirn_record(enum pirn_record what, unsigned small, int64_t value, const char *text)
{
    if (unlikely(trace_is_on())) {
        unsigned long irq;
        struct cpu *cpu = rt_enter(&irq); /* no preemption: as pirn_mark */
        trace_record(cpu, (unsigned)what, small, value, text);
        rt_leave(irq);
    }
}
