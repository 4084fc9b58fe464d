/* SPDX-License-Identifier: MIT */
/*
 * calls.c (RISC-V) - which instructions call: jal and jalr with ra, and their compressed forms.
 */
#include "bare.h"

#define JAL_RA 0x0efu
#define JALR_RA 0x0e7u
#define C_JALR 0x9002u
#define C_JAL 0x2001u

/* The sign is the highest bit; then 10 bits, one, and 8 that the offset has in reverse order. */
static intptr_t jal_offset(uint32_t instruction)
{
    uint32_t offset = (instruction >> 21 & 0x3ff) << 1 | (instruction >> 20 & 1) << 11 |
                      (instruction >> 12 & 0xff) << 12;
    return (intptr_t)offset - (instruction >> 31 != 0 ? 1 << 20 : 0);
}

static bool compressed_calls(unsigned halfword)
{
    bool jalr = (halfword & 0xf07f) == C_JALR && (halfword & 0xf80) != 0;
    return jalr || (__riscv_xlen == 32 && (halfword & 0xe003) == C_JAL);
}

bool arch_call_before(uintptr_t address, uintptr_t *target)
{
    *target = 0;
    if (address % 2 != 0) {
        return false;
    }
    const uint16_t *at = (const uint16_t *)address;
    uint32_t instruction = at[-2] | (uint32_t)at[-1] << 16;
    if ((instruction & 0xfff) == JAL_RA) {
        *target = address - 4 + (uintptr_t)jal_offset(instruction);
        return true;
    }
    return (instruction & 0x7fff) == JALR_RA || compressed_calls(at[-1]);
}
