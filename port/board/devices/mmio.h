/* SPDX-License-Identifier: MIT */
/*
 * mmio.h - registers of devices.
 */
#ifndef PIRN_BOARD_MMIO_H
#define PIRN_BOARD_MMIO_H

#include "compiler.h"

ALWAYS_INLINE void put32(uintptr_t at, uint32_t value)
{
    *(volatile uint32_t *)at = value;
}

ALWAYS_INLINE uint32_t get32(uintptr_t at)
{
    return *(volatile uint32_t *)at;
}

ALWAYS_INLINE void put8(uintptr_t at, uint8_t value)
{
    *(volatile uint8_t *)at = value;
}

ALWAYS_INLINE uint8_t get8(uintptr_t at)
{
    return *(volatile uint8_t *)at;
}

#endif
