/* SPDX-License-Identifier: MIT */
/*
 * check_board.h - a check in programs for boards: what does not hold is said, and ends the program.
 */
#ifndef CHECK_BOARD_H
#define CHECK_BOARD_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
