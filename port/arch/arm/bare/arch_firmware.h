/* SPDX-License-Identifier: MIT */
/*
 * arch_firmware.h (ARMv7) - calls of the firmware, as the hypervisor's.
 */
#ifndef PIRN_ARCH_FIRMWARE_H
#define PIRN_ARCH_FIRMWARE_H

#include "compiler.h"

#define ARCH_FIRMWARE_CPU_ON 0x84000003u

ALWAYS_INLINE long arch_firmware(unsigned long function, unsigned long a, unsigned long b,
                                 unsigned long c)
{
    register unsigned long r0 __asm__("r0") = function;
    register unsigned long r1 __asm__("r1") = a;
    register unsigned long r2 __asm__("r2") = b;
    register unsigned long r3 __asm__("r3") = c;
    __asm__ volatile(".arch_extension virt\n\thvc #0"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)::"memory");
    return (long)r0;
}

#endif
