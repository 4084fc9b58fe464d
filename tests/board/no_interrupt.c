/* SPDX-License-Identifier: MIT */
/*
 * no_interrupt.c - makes the board's console one that cannot interrupt: linked with the library's
 * objects and --wrap=board_console_source.
 */
#include <limits.h>

unsigned __wrap_board_console_source(void);
unsigned __wrap_board_console_source(void)
{
    return UINT_MAX;
}
