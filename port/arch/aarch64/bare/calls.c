/* SPDX-License-Identifier: MIT */
/*
 * calls.c (AArch64) - which instructions call: bl, blr.
 */
#include "bare.h"

bool arch_call_before(uintptr_t address, uintptr_t *target)
{
    *target = 0;
    if (address % 4 != 0) {
        return false;
    }
    uint32_t instruction = ((const uint32_t *)address)[-1];
    if (instruction >> 26 == 0x25) {
        uintptr_t offset = (uintptr_t)(instruction & 0x03ffffff) << 2; /* of 28 bits */
        *target = address - 4 + offset - (offset >> 27 != 0 ? (uintptr_t)1 << 28 : 0);
        return true;
    }
    return (instruction & 0xfffffc1f) == 0xd63f0000;
}
