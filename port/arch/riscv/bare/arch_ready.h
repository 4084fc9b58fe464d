/* SPDX-License-Identifier: MIT */
/*
 * arch_ready.h (RISC-V) - port_ready.h by the hardware scheduler of the chip in hw/rtl: the
 * instructions give and take.for, and its registers (docs/internals/chip.md). A queue is the
 * RTU_FILLQ of a core, for its hardware threads.
 *
 * give waits until all harts see the caller's earlier stores, and take.for ends after that: so the
 * former is a release, the latter an acquire.
 */
#ifndef PIRN_ARCH_READY_H
#define PIRN_ARCH_READY_H

#include "compiler.h"

#define ARCH_READY_COUNT 0x41cu /* from BOARD_SCHEDULER on */
#define ARCH_READY_ROOM 0x418u

struct thread;

ALWAYS_INLINE uint32_t arch_ready_register(uint32_t at)
{
    return *(volatile uint32_t *)(uintptr_t)(BOARD_SCHEDULER + at);
}

ALWAYS_INLINE unsigned port_ready_room(void)
{
    return arch_ready_register(ARCH_READY_ROOM);
}

ALWAYS_INLINE bool port_ready_give(struct thread *t)
{
    uintptr_t given;
    __asm__ volatile(".insn r 0x0b, 7, 2, %0, %1, x0" : "=r"(given) : "r"(t) : "memory");
    return given != 0;
}

ALWAYS_INLINE struct thread *port_ready_take(unsigned cycles)
{
    struct thread *t;
    __asm__ volatile(".insn r 0x0b, 7, 1, %0, %1, x0" : "=r"(t) : "r"(cycles) : "memory");
    return t;
}

ALWAYS_INLINE unsigned port_ready_count(void)
{
    return arch_ready_register(ARCH_READY_COUNT);
}

#endif
