/* SPDX-License-Identifier: MIT */
/*
 * calls.c (MIPS) - which instructions call: jal, jalr with $31, bgezal (bal) and bltzal. Behind
 * them is one more instruction, their delay slot.
 */
#include "bare.h"

bool arch_call_before(uintptr_t address, uintptr_t *target)
{
    *target = 0;
    if (address % 4 != 0) {
        return false;
    }
    uint32_t instruction = ((const uint32_t *)address)[-2];
    if (instruction >> 26 == 3) {
        *target = ((address - 4) & 0xf0000000) | (instruction & 0x03ffffff) << 2;
        return true;
    }
    if ((instruction & 0xfc1e0000) == 0x04100000) {
        *target = address - 4 + (uintptr_t)((int16_t)instruction * 4);
        return true;
    }
    return (instruction & 0xfc1ff83f) == 0x0000f809;
}
