/* SPDX-License-Identifier: MIT */
/*
 * arch_counter.h (AArch64) - the generic timer: a counter that all cores have, and each core's
 * virtual timer, which compares it.
 */
#ifndef PIRN_ARCH_COUNTER_H
#define PIRN_ARCH_COUNTER_H

#include "compiler.h"

ALWAYS_INLINE uint64_t arch_counter(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
    return now;
}

ALWAYS_INLINE uint32_t arch_counter_hz(void)
{
    uint64_t hz;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    return (uint32_t)hz;
}

/* Control: bit 0, it interrupts while the counter is not below `at`. */
ALWAYS_INLINE void arch_counter_compare(uint64_t at, uint32_t control)
{
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" ::"r"(at),
                     "r"((uint64_t)control)
                     : "memory");
}

#endif
