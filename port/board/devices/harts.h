/* SPDX-License-Identifier: MIT */
/*
 * harts.h - what RISC-V boards with SiFive's interrupt controllers share: clint.c, plic.c.
 */
#ifndef PIRN_BOARD_HARTS_H
#define PIRN_BOARD_HARTS_H

#include "board_map.h"

/* Harts that run no programs (start.S); all of them exist. */
#ifdef BOARD_PARKED
#define PARKED ((unsigned)__builtin_popcount(BOARD_PARKED))
#else
#define PARKED 0u
#endif

/* board_core_begin of such a board, but for what the board needs beside: the hart's timer is not
 * set, no interrupt between harts is pending, and it takes all kinds of interrupts. plic.c. */
void harts_core_begin(void);

#endif
