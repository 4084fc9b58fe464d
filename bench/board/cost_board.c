/* SPDX-License-Identifier: MIT */
/*
 * cost_board.c - what a program has cost on a board: the time that has passed. Where the clock
 * counts instructions (`pirn board run --icount`) that is those of all cores, one after the other.
 */
#include "clock.h"
#include "crowd.h"

struct cost cost_now(void)
{
    double now = clock_seconds();
    return (struct cost){.wall = now, .cpu = now, .system = 0};
}
