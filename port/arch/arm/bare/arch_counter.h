/* SPDX-License-Identifier: MIT */
/*
 * arch_counter.h (ARMv7) - the generic timer: a counter that all cores have, and each core's
 * virtual timer, which compares it.
 */
#ifndef PIRN_ARCH_COUNTER_H
#define PIRN_ARCH_COUNTER_H

#include "compiler.h"

ALWAYS_INLINE uint64_t arch_counter(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrrc p15, 1, %Q0, %R0, c14" : "=r"(now)::"memory");
    return now;
}

ALWAYS_INLINE uint32_t arch_counter_hz(void)
{
    uint32_t hz;
    __asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(hz));
    return hz;
}

/* Control: bit 0, it interrupts while the counter is not below `at`. */
ALWAYS_INLINE void arch_counter_compare(uint64_t at, uint32_t control)
{
    __asm__ volatile("mcrr p15, 3, %Q0, %R0, c14\n\tmcr p15, 0, %1, c14, c3, 1\n\tisb" ::"r"(at),
                     "r"(control)
                     : "memory");
}

#endif
