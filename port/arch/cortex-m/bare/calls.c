/* SPDX-License-Identifier: MIT */
/*
 * calls.c (ARM's microcontrollers) - which instructions call: bl, and blx with a register. The
 * address that a call returns to has its lowest bit set.
 */
#include "bare.h"

bool arch_call_before(uintptr_t address, uintptr_t *target)
{
    *target = 0;
    if (address % 2 == 0) {
        return false;
    }
    const uint16_t *at = (const uint16_t *)(address - 1);
    uint32_t first = at[-2], second = at[-1];
    if ((first & 0xf800u) == 0xf000u && (second & 0xd000u) == 0xd000u) {
        uint32_t sign = first >> 10 & 1u;
        uint32_t bit_23 = ~((second >> 13 & 1u) ^ sign) & 1u,
                 bit_22 = ~((second >> 11 & 1u) ^ sign) & 1u;
        uint32_t offset = sign << 24 | bit_23 << 23 | bit_22 << 22 | (first & 0x3ffu) << 12 |
                          (second & 0x7ffu) << 1;
        *target = address - 1 + offset - (sign != 0 ? 1u << 25 : 0);
        return true;
    }
    return (second & 0xff87u) == 0x4780u;
}
