/* SPDX-License-Identifier: MIT */
/*
 * cmsdk_uart.c - the UART of Arm's Cortex-M System Design Kit as the console. Its rate is what the
 * divider says at reset or firmware has set; where that is none, the fastest one.
 */
#include "board.h"
#include "board_map.h"
#include "mmio.h"

#define UART_DATA (BOARD_UART + 0x00u)
#define UART_STATE (BOARD_UART + 0x04u)
#define UART_CONTROL (BOARD_UART + 0x08u)
#define UART_CLEAR (BOARD_UART + 0x0cu)
#define UART_DIVIDER (BOARD_UART + 0x10u)
#define STATE_FULL 1u     /* no room to send */
#define STATE_RECEIVED 2u /* a byte is there */
#define CONTROL_SEND 1u
#define CONTROL_RECEIVE 2u
#define CONTROL_ON_RECEIVED 8u
#define DIVIDER_LEAST 16u

static void on(uint32_t also)
{
    uint32_t wanted = CONTROL_SEND | CONTROL_RECEIVE | also;
    uint32_t now = get32(UART_CONTROL);
    if (get32(UART_DIVIDER) < DIVIDER_LEAST) {
        put32(UART_DIVIDER, DIVIDER_LEAST);
    }
    if ((now & wanted) != wanted) {
        put32(UART_CONTROL, now | wanted);
    }
}

void board_console_put(char c)
{
    on(0);
    while (get32(UART_STATE) & STATE_FULL) {
    }
    put32(UART_DATA, (uint8_t)c);
}

/* The interrupt is taken back before the byte is: another one raises it again. */
int board_console_get(void)
{
    on(0);
    if ((get32(UART_STATE) & STATE_RECEIVED) == 0) {
        return -1;
    }
    put32(UART_CLEAR, STATE_RECEIVED);
    return (int)(get32(UART_DATA) & 0xffu);
}

void board_console_listen(void)
{
    on(CONTROL_ON_RECEIVED);
}

unsigned board_console_source(void)
{
    return BOARD_UART_SOURCE;
}
