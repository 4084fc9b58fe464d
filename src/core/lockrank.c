/* SPDX-License-Identifier: MIT */
/*
 * lockrank.c - debug check of lockrank.h. The held ranks are a bit set in the CPU; foreign kernel
 * threads are not checked.
 */
#include <inttypes.h>

#include "cpu.h"

#ifdef PIRN_DEBUG

void lockrank_acquire(enum lockrank rank)
{
    struct cpu *cpu = port_cpu_self();
    if (cpu == NULL) {
        return;
    }
    if (cpu->ranks_held >> rank) {
        RT_PANIC("lock of rank %d taken with ranks %#" PRIx32 " held", (int)rank, cpu->ranks_held);
    }
    cpu->ranks_held |= 1u << rank;
}

void lockrank_release(enum lockrank rank)
{
    struct cpu *cpu = port_cpu_self();
    if (cpu == NULL) {
        return;
    }
    RT_ASSERT(cpu->ranks_held & (1u << rank));
    cpu->ranks_held &= ~(1u << rank);
}

void lockrank_release_last(void)
{
    struct cpu *cpu = port_cpu_self();
    RT_ASSERT(cpu->ranks_held != 0 && (cpu->ranks_held & (cpu->ranks_held - 1)) == 0);
    cpu->ranks_held = 0;
}

bool lockrank_is_held(enum lockrank rank)
{
    struct cpu *cpu = port_cpu_self();
    return cpu == NULL || (cpu->ranks_held & (1u << rank)) != 0;
}

bool lockrank_none_held(void)
{
#ifdef PORT_PREEMPTS_LIBRARY
    if (port_irq_is_on()) {
        return true; /* its CPU may be another one by now */
    }
#endif
    struct cpu *cpu = port_cpu_self();
    return cpu == NULL || cpu->ranks_held == 0;
}

#endif
