/* SPDX-License-Identifier: MIT */
/*
 * raise_edu.c - QEMU's PCI device "edu" in slots 1 to 3 of the virt machine of RISC-V, whose
 * interrupt is a write to a register (QEMU, docs/specs/edu).
 */
#include "raise.h"

#include <stdint.h>

#define CONFIGURATION(slot) (0x30000000u + ((slot) << 15))
#define COMMAND 4u
#define COMMAND_MEMORY 2u
#define BASE 0x10u
#define DEVICE(slot) (0x40000000u + ((slot) << 20))
#define RAISE 0x60u
#define CLEAR 0x64u
#define FIRST_LINE 32u /* of slot 0; the others follow */

static void put(uintptr_t at, uint32_t value)
{
    *(volatile uint32_t *)at = value;
}

static unsigned slot(unsigned i)
{
    return i + 1;
}

void raise_begin(void)
{
    for (unsigned i = 0; i < RAISE_COUNT; i++) {
        put(CONFIGURATION(slot(i)) + BASE, DEVICE(slot(i)));
        put(CONFIGURATION(slot(i)) + COMMAND, COMMAND_MEMORY);
    }
}

unsigned raise_source(unsigned i)
{
    return FIRST_LINE + slot(i);
}

void raise_interrupt(unsigned i)
{
    put(DEVICE(slot(i)) + RAISE, 1);
}

void raise_clear(unsigned i)
{
    put(DEVICE(slot(i)) + CLEAR, 1);
}
