/* SPDX-License-Identifier: MIT */
/*
 * board.c (riscv-virt) - QEMU's RISC-V machine "virt" and the chip of hw/rtl, in machine mode:
 * 16550 UART, test device.
 */
#include "board.h"
#include "arch_bare.h"
#include "bare.h"
#include "board_map.h"
#include "harts.h"
#include "mmio.h"

#define UART_SOURCE 10u

#define UART 0x10000000u
#define UART_DATA (UART + 0u)
#define UART_INTERRUPTS (UART + 1u)
#define UART_STATUS (UART + 5u)
#define UART_HAS_DATA 1u
#define UART_HAS_ROOM 0x20u
#define UART_ON_DATA 1u

/* Of the description of the chip: 1 if caches see what other cores write. */
#define CHIP_COHERENT (BOARD_CHIP + 0x14u)

#define TEST_DEVICE 0x100000u
#define TEST_PASS 0x5555u
#define TEST_FAIL 0x3333u

/* Data that are cached need caches that are coherent. Before the other cores are started, so even
 * then this one reads what it has written. */
#if defined(BOARD_CHIP) && !defined(BOARD_UNCACHED)
static void check_coherence(void)
{
    if (get32(CHIP_COHERENT) == 0) {
        bare_stop("the caches of this chip are not coherent, and this image has its data in them; "
                  "build it for the board pirn-soc-incoherent",
                  1);
    }
}
#else
static void check_coherence(void) {}
#endif

void board_core_begin(void)
{
    check_coherence();
    harts_core_begin();
}

void board_console_put(char c)
{
    while (!(get8(UART_STATUS) & UART_HAS_ROOM)) {
    }
    put8(UART_DATA, (uint8_t)c);
}

int board_console_get(void)
{
    return get8(UART_STATUS) & UART_HAS_DATA ? get8(UART_DATA) : -1;
}

void board_console_listen(void)
{
    put8(UART_INTERRUPTS, UART_ON_DATA);
}

unsigned board_console_source(void)
{
    return UART_SOURCE;
}

void board_exit(int status)
{
    put32(TEST_DEVICE, status == 0 ? TEST_PASS : (uint32_t)status << 16 | TEST_FAIL);
    for (;;) {
        arch_wait();
    }
}
