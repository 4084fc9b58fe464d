/* SPDX-License-Identifier: MIT */
/*
 * arch_ready.h (RISC-V) - port_ready.h by the hardware scheduler of the chip in hw/rtl: the
 * instructions give and take.for, and its registers (docs/internals/chip.md). A queue is the
 * RTU_FILLQ of a core, for its hardware threads.
 *
 * give waits until all harts see the caller's earlier stores, and take.for ends after that: so the
 * former is a release, the latter an acquire. Likewise each access to the state of a line waits for
 * the caller's earlier stores, and ends before a later load begins.
 *
 * A line's word is never 0 while the line is full, because 0 is the answer of an access that has
 * found the line in the other state.
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

struct port_line {
    uint32_t word; /* 1, of the hardware's loads and stores */
    uint32_t rest[3];
} ALIGNED(16);

/* Instructions of custom-0, with func3 and func7 of the table in docs/internals/chip.md. */
#define ARCH_LINE(func3, func7, result, line, word)                                                \
    __asm__ volatile(".insn r 0x0b, " #func3 ", " #func7 ", %0, %1, %2"                            \
                     : "=r"(result)                                                                \
                     : "r"(line), "r"(word)                                                        \
                     : "memory")

ALWAYS_INLINE bool port_line_take(struct port_line *l, bool full, bool kept)
{
    uintptr_t taken;
    if (full && kept) {
        ARCH_LINE(2, 12, taken, l, 0);
    } else if (full) {
        ARCH_LINE(2, 4, taken, l, 0);
    } else if (kept) {
        ARCH_LINE(3, 12, taken, l, 1);
    } else {
        ARCH_LINE(3, 4, taken, l, 1);
    }
    return taken != 0;
}

ALWAYS_INLINE bool port_line_set(struct port_line *l, bool full)
{
    uintptr_t woken;
    if (full) {
        ARCH_LINE(3, 1, woken, l, 1);
    } else {
        ARCH_LINE(3, 2, woken, l, 1);
    }
    return woken != 0;
}

ALWAYS_INLINE bool port_line_wait(struct port_line *l, bool full, struct thread *t)
{
    uintptr_t waits;
    if (full) {
        ARCH_LINE(3, 16, waits, l, t);
    } else {
        ARCH_LINE(3, 17, waits, l, t);
    }
    return waits != 0;
}

ALWAYS_INLINE bool port_line_full(const struct port_line *l)
{
    uintptr_t word;
    ARCH_LINE(2, 5, word, l, 0);
    return word != 0;
}

/* There is no fork. */
ALWAYS_INLINE void port_line_forget(void) {}
#undef ARCH_LINE

#endif
