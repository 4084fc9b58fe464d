/* SPDX-License-Identifier: MIT */
/*
 * calls.c (ARM) - which instructions call: bl, and blx with a register.
 */
#include "bare.h"

bool arch_call_before(uintptr_t address, uintptr_t *target)
{
    *target = 0;
    if (address % 4 != 0) {
        return false;
    }
    uint32_t instruction = ((const uint32_t *)address)[-1];
    if (instruction >> 28 == 0xf) {
        return false;
    }
    if ((instruction & 0x0f000000) == 0x0b000000) {
        uint32_t offset = (instruction & 0x00ffffff) << 2; /* of 26 bits, from two words ahead */
        *target = address + 4 + offset - (offset >> 25 != 0 ? 1u << 26 : 0);
        return true;
    }
    return (instruction & 0x0ffffff0) == 0x012fff30;
}
