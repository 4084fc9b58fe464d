/* SPDX-License-Identifier: MIT */
/*
 * generic_timer.c - clock and timers of Arm's generic timer (ARMv7, AArch64): each core's virtual
 * timer, which compares the counter that all have.
 */
#include "arch_counter.h"
#include "board.h"
#include "core_timer.h"

#define CONTROL_ON 1u

uint64_t board_clock(void)
{
    return arch_counter();
}

uint32_t board_clock_hz(void)
{
    return arch_counter_hz();
}

void board_timer_set(uint64_t at)
{
    arch_counter_compare(at, at != UINT64_MAX ? CONTROL_ON : 0);
}

/* It is pending while the time is past. */
void core_timer_taken(void) {}
