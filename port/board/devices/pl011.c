/* SPDX-License-Identifier: MIT */
/*
 * pl011.c - Arm's UART as the console. Its rate is what the firmware has set.
 */
#include "board.h"
#include "board_map.h"
#include "mmio.h"

#define UART_DATA (BOARD_UART + 0x00u)
#define UART_FLAGS (BOARD_UART + 0x18u)
#define UART_INTERRUPTS (BOARD_UART + 0x38u)
#define FLAG_EMPTY 0x10u /* nothing received */
#define FLAG_FULL 0x20u  /* no room to send */
#define ON_DATA 0x10u
#define ON_PAUSE 0x40u /* fewer bytes than raise the former, and none behind them */

void board_console_put(char c)
{
    while (get32(UART_FLAGS) & FLAG_FULL) {
    }
    put32(UART_DATA, (uint8_t)c);
}

int board_console_get(void)
{
    return get32(UART_FLAGS) & FLAG_EMPTY ? -1 : (int)(get32(UART_DATA) & 0xffu);
}

void board_console_listen(void)
{
    put32(UART_INTERRUPTS, ON_DATA | ON_PAUSE);
}

unsigned board_console_source(void)
{
    return BOARD_UART_SOURCE;
}
