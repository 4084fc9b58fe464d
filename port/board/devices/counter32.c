/* SPDX-License-Identifier: MIT */
/*
 * counter32.c - a counter of 32 bits as the clock: BOARD_COUNTER, which counts up BOARD_COUNTER_HZ
 * times a second, for all cores.
 *
 * The clock has 64 bits. Its upper half counts the counter's half turns: a core that finds the
 * counter in the other half than `halves` says, counts on. That is right if the clock is read once
 * in each half turn, so that timers are set to no later time. `halves` is read before the counter:
 * if it is old by one, its reader corrects that. ORDER(clock)
 */
#include "board.h"
#include "board_map.h"
#include "mmio.h"

#define HALF_SHIFT 31

uint64_t board_clock(void)
{
    static uint32_t halves;
    uint32_t seen = __atomic_load_n(&halves, __ATOMIC_ACQUIRE); /* ORDER(clock) */
    uint32_t now = get32(BOARD_COUNTER), before = seen;
    if ((now >> HALF_SHIFT) != (seen & 1u)) {
        seen++;
        __atomic_compare_exchange_n(&halves, &before, seen, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED); /* ORDER(clock) */
    }
    return (uint64_t)seen << HALF_SHIFT | (now & ((1u << HALF_SHIFT) - 1));
}

uint32_t board_clock_hz(void)
{
    return BOARD_COUNTER_HZ;
}
