/* SPDX-License-Identifier: MIT */
/*
 * raise_i8042.c - the keyboard controller of PCs, which the Malta board has: it behaves as if a
 * byte had come from the keyboard or from the mouse if it is asked to. There is one byte, so the
 * one before must have been read.
 */
#include "raise.h"

#include <stdint.h>

#define DATA 0xb8000060u
#define COMMAND 0xb8000064u
#define FROM_KEYBOARD 0xd2u
#define FROM_MOUSE 0xd3u

static void put(uintptr_t at, uint8_t value)
{
    *(volatile uint8_t *)at = value;
}

void raise_begin(void) {}

unsigned raise_source(unsigned i)
{
    return i == 0 ? 1 : 12;
}

void raise_interrupt(unsigned i)
{
    put(COMMAND, i == 0 ? FROM_KEYBOARD : FROM_MOUSE);
    put(DATA, 0);
}

void raise_clear(unsigned i)
{
    (void)i;
    (void)*(volatile uint8_t *)DATA;
}
