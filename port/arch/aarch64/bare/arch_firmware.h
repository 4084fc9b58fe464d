/* SPDX-License-Identifier: MIT */
/*
 * arch_firmware.h (AArch64) - calls of the firmware, which is above the level that the cores were
 * started at: the hypervisor's from level 1, the monitor's from level 2. From level 3 there is
 * none.
 */
#ifndef PIRN_ARCH_FIRMWARE_H
#define PIRN_ARCH_FIRMWARE_H

#include "compiler.h"

#define ARCH_FIRMWARE_CPU_ON 0xc4000003u
#define ARCH_FIRMWARE_NONE (-1) /* what it answers to a call that it does not know */

extern const uint32_t arch_start_level; /* start.S */

ALWAYS_INLINE long arch_firmware(unsigned long function, unsigned long a, unsigned long b,
                                 unsigned long c)
{
    register unsigned long x0 __asm__("x0") = function;
    register unsigned long x1 __asm__("x1") = a;
    register unsigned long x2 __asm__("x2") = b;
    register unsigned long x3 __asm__("x3") = c;
    switch (arch_start_level) {
    case 1:
        __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
        return (long)x0;
    case 2:
        __asm__ volatile("smc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
        return (long)x0;
    default:
        return ARCH_FIRMWARE_NONE;
    }
}

#endif
