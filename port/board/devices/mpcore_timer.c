/* SPDX-License-Identifier: MIT */
/*
 * mpcore_timer.c - clock and timers of ARM11 MPCore and Cortex-A9 on boards of Arm's: a counter of
 * 24 MHz on the board, of 32 bits, and a private timer in each core, which counts down.
 *
 * The clock has 64 bits. Its upper half counts the counter's half turns (of 89 s): a core that
 * finds the counter in the other half than `halves` says, counts on. That is right if the clock is
 * read once in each half turn, so that timers are set to no later time. `halves` is read
 * before the counter: if it is old by one, its reader corrects that. ORDER(clock)
 */
#include "board.h"
#include "board_map.h"
#include "core_timer.h"
#include "mmio.h"

#define CLOCK_HZ 24000000u
#define HALF_SHIFT 31

/* The private timer: half the core's clock on hardware, which has to be known; 100 MHz in QEMU. 25
 * of its ticks are 6 of the clock's. */
#define TIMER_LOAD (BOARD_PRIVATE_TIMER + 0x0u)
#define TIMER_CONTROL (BOARD_PRIVATE_TIMER + 0x8u)
#define TIMER_STATUS (BOARD_PRIVATE_TIMER + 0xcu)
#define CONTROL_ON 1u
#define CONTROL_INTERRUPTS 4u
#define TIMER_TICKS(ticks) ((uint32_t)(ticks)*25u / 6u + 1)
#define LONGEST (1u << 27) /* 5.6 s: multiplied, it fits */

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
    return CLOCK_HZ;
}

void board_timer_set(uint64_t at)
{
    uint64_t now = board_clock();
    uint64_t left = at > now ? at - now : 0;
    put32(TIMER_CONTROL, 0);
    put32(TIMER_STATUS, 1);
    put32(TIMER_LOAD, TIMER_TICKS(left < LONGEST ? left : LONGEST));
    put32(TIMER_CONTROL, CONTROL_ON | CONTROL_INTERRUPTS);
}

void core_timer_taken(void)
{
    put32(TIMER_STATUS, 1);
}
