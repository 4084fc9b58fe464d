/* SPDX-License-Identifier: MIT */
/*
 * core_timer.h - what a core's timer is for its interrupt controller. The timer is board.h's clock
 * and timer otherwise.
 */
#ifndef PIRN_BOARD_CORE_TIMER_H
#define PIRN_BOARD_CORE_TIMER_H

/* Its interrupt has been taken, and is not pending any more when this returns, or when the timer is
 * set next. */
void core_timer_taken(void);

#endif
