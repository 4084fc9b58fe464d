/* SPDX-License-Identifier: MIT */
/*
 * generic_timer.c - clock and timers of ARMv7's generic timer: each core's virtual timer, which
 * compares the counter that all have.
 */
#include "board.h"
#include "core_timer.h"

#define CONTROL_ON 1u

uint64_t board_clock(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrrc p15, 1, %Q0, %R0, c14" : "=r"(now)::"memory");
    return now;
}

uint32_t board_clock_hz(void)
{
    uint32_t hz;
    __asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(hz));
    return hz;
}

void board_timer_set(uint64_t at)
{
    uint32_t control = at != UINT64_MAX ? CONTROL_ON : 0;
    __asm__ volatile("mcrr p15, 3, %Q0, %R0, c14\n\tmcr p15, 0, %1, c14, c3, 1\n\tisb" ::"r"(at),
                     "r"(control)
                     : "memory");
}

/* It is pending while the time is past. */
void core_timer_taken(void) {}
