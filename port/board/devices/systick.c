/* SPDX-License-Identifier: MIT */
/*
 * systick.c - the core's timer of Arm's microcontrollers, of 24 bits, which counts the processor's
 * clock down. The clock is another device's (counter32.c), and as fast.
 */
#include "board.h"
#include "board_map.h"
#include "core_timer.h"
#include "mmio.h"
#include "system.h"

#define LONGEST 0xffffffu

static void stop(void)
{
    put32(SYSTEM_TIMER_CONTROL, 0);
    put32(SYSTEM_PENDING, PENDING_TIMER_NOT);
}

/* It counts from the next tick on: one too many, so not too early. */
void board_timer_set(uint64_t at)
{
    stop();
    if (at == UINT64_MAX) {
        return;
    }
    uint64_t now = board_clock();
    uint64_t left = at > now ? at - now : 1;
    put32(SYSTEM_TIMER_LOAD, left < LONGEST ? (uint32_t)left : LONGEST);
    put32(SYSTEM_TIMER_VALUE, 0);
    put32(SYSTEM_TIMER_CONTROL, TIMER_ON);
}

/* It would begin again. */
void core_timer_taken(void)
{
    stop();
}
