/* SPDX-License-Identifier: MIT */
/*
 * mpcore_timer.c - timers of ARM11 MPCore and Cortex-A9 on boards of Arm's: a private timer in each
 * core, which counts down. The clock is a counter of 24 MHz on the board (counter32.c).
 */
#include "board.h"
#include "board_map.h"
#include "core_timer.h"
#include "mmio.h"

/* The private timer: half the core's clock on hardware, which has to be known; 100 MHz in QEMU. 25
 * of its ticks are 6 of the clock's. */
#define TIMER_LOAD (BOARD_PRIVATE_TIMER + 0x0u)
#define TIMER_CONTROL (BOARD_PRIVATE_TIMER + 0x8u)
#define TIMER_STATUS (BOARD_PRIVATE_TIMER + 0xcu)
#define CONTROL_ON 1u
#define CONTROL_INTERRUPTS 4u
#define TIMER_TICKS(ticks) ((uint32_t)(ticks)*25u / 6u + 1)
#define LONGEST (1u << 27) /* 5.6 s, less than half a turn of the clock; multiplied, it fits */

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
