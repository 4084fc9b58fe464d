/* SPDX-License-Identifier: MIT */
/*
 * raise_gic.c - Arm's interrupt controller makes an interrupt pending if it is asked to. No device
 * of the boards has these sources.
 */
#include "board_map.h"
#include "raise.h"

#include <stdint.h>

#define FIRST 60u
#define SET_PENDING(id) (BOARD_GIC_COMMON + 0x200u + (id) / 32u * 4u)

void raise_begin(void) {}

unsigned raise_source(unsigned i)
{
    return FIRST + i;
}

void raise_interrupt(unsigned i)
{
    *(volatile uint32_t *)(uintptr_t)SET_PENDING(FIRST + i) = 1u << (FIRST + i) % 32u;
}

/* Taking it has cleared it. */
void raise_clear(unsigned i)
{
    (void)i;
}
