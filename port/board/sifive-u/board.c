/* SPDX-License-Identifier: MIT */
/*
 * board.c (sifive-u) - the HiFive Unleashed's console: SiFive's UART (FU540-C000 Manual, v1p4,
 * chapter 13).
 */
#include "board.h"
#include "board_map.h"
#include "harts.h"
#include "mmio.h"

#define UART_SEND (BOARD_UART + 0x00u)
#define UART_RECEIVE (BOARD_UART + 0x04u)
#define UART_SENDER (BOARD_UART + 0x08u)
#define UART_RECEIVER (BOARD_UART + 0x0cu)
#define UART_INTERRUPTS (BOARD_UART + 0x10u)
#define UART_NONE (1u << 31) /* no room; no byte */
#define UART_ON 1u           /* receiver: interrupts while it has more than 0 bytes */
#define UART_ON_RECEIVED 2u

void board_core_begin(void)
{
    harts_core_begin();
}

void board_console_put(char c)
{
    put32(UART_SENDER, UART_ON);
    while (get32(UART_SEND) & UART_NONE) {
    }
    put32(UART_SEND, (uint8_t)c);
}

int board_console_get(void)
{
    uint32_t word = get32(UART_RECEIVE); /* takes the byte */
    return word & UART_NONE ? -1 : (int)(word & 0xff);
}

void board_console_listen(void)
{
    put32(UART_RECEIVER, UART_ON);
    put32(UART_INTERRUPTS, UART_ON_RECEIVED);
}

unsigned board_console_source(void)
{
    return BOARD_UART_SOURCE;
}
