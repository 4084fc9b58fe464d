/* SPDX-License-Identifier: MIT */
/*
 * board.c (riscv-virt) - QEMU's RISC-V machine "virt" and the chip of hw/rtl, in machine mode:
 * CLINT (timers and inter-core interrupts), 16550 UART, PLIC, test device.
 */
#include "board.h"
#include "arch_bare.h"
#include "bare.h"
#include "board_map.h"
#include "mmio.h"

#define CLINT 0x2000000u
#define MSIP(hart) (CLINT + 4u * (hart))
#define MTIMECMP(hart) (CLINT + 0x4000u + 8u * (hart))
#define MTIME (CLINT + 0xbff8u)
#ifdef BOARD_CLOCK_HZ
#define CLOCK_HZ BOARD_CLOCK_HZ
#else
#define CLOCK_HZ 10000000u
#endif

#define PLIC 0x0c000000u
#define PLIC_PRIORITY(source) (PLIC + 4u * (source))
#define PLIC_ENABLE(hart, source) (PLIC + 0x2000u + 0x100u * (hart) + (source) / 32u * 4u)
#define PLIC_THRESHOLD(hart) (PLIC + 0x200000u + 0x2000u * (hart))
#define PLIC_CLAIM(hart) (PLIC_THRESHOLD(hart) + 4u)
#ifdef BOARD_PLIC_SOURCES
#define PLIC_SOURCES BOARD_PLIC_SOURCES
#else
#define PLIC_SOURCES 95u
#endif
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

#define MIE_SOFT 0x8u
#define MIE_TIMER 0x80u
#define MIE_DEVICE 0x800u

/* Harts that run no programs (start.S); all of them exist. */
#ifdef BOARD_PARKED
#define PARKED ((unsigned)__builtin_popcount(BOARD_PARKED))
#else
#define PARKED 0u
#endif

/* A hart that does not exist has no timer that would keep what is written. */
unsigned board_core_count(void)
{
    static unsigned count;
    while (count < BARE_CORES + PARKED) {
        put32(MTIMECMP(count) + 4, UINT32_MAX);
        if (get32(MTIMECMP(count) + 4) != UINT32_MAX) {
            break;
        }
        count++;
    }
    return count - PARKED;
}

void board_cores_wake(void)
{
    unsigned long self = arch_core()->hart;
    for (unsigned hart = 0; hart < board_core_count() + PARKED; hart++) {
        if (hart != self) {
            board_ipi(hart);
        }
    }
}

void board_core_wait(void)
{
    arch_wait();
    board_ipi_taken();
}

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
    board_timer_set(UINT64_MAX);
    board_ipi_taken();
    __asm__ volatile("csrw mie, %0" ::"r"((unsigned long)(MIE_SOFT | MIE_TIMER | MIE_DEVICE)));
}

void board_ipi(unsigned hart)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(permit) memory before the device */
    put32(MSIP(hart), 1);
}

void board_ipi_taken(void)
{
    unsigned long hart;
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    put32(MSIP(hart), 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(permit) the device before memory */
}

uint64_t board_clock(void)
{
#if __riscv_xlen == 64
    return *(volatile uint64_t *)(uintptr_t)MTIME;
#else
    uint32_t high, low;
    do {
        high = get32(MTIME + 4);
        low = get32(MTIME);
    } while (get32(MTIME + 4) != high);
    return (uint64_t)high << 32 | low;
#endif
}

uint32_t board_clock_hz(void)
{
    return CLOCK_HZ;
}

/* The high word first, and as late as can be: no earlier time is there in between. */
void board_timer_set(uint64_t at)
{
    uintptr_t compare = MTIMECMP(arch_core()->hart);
    put32(compare + 4, UINT32_MAX);
    put32(compare, (uint32_t)at);
    put32(compare + 4, (uint32_t)(at >> 32));
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

/* The caller has a lock that is held for every change. */
bool board_irq_enable(unsigned source, bool on)
{
    uintptr_t hart = arch_core()->hart;
    if (source == 0 || source > PLIC_SOURCES) {
        return false;
    }
    uintptr_t enable = PLIC_ENABLE(hart, source);
    uint32_t bit = 1u << source % 32;
    put32(PLIC_PRIORITY(source), on);
    put32(PLIC_THRESHOLD(hart), 0);
    put32(enable, on ? get32(enable) | bit : get32(enable) & ~bit);
    return true;
}

void board_on_device(void)
{
    uintptr_t claim = PLIC_CLAIM(arch_core()->hart);
    uint32_t source = get32(claim);
    if (source != 0) {
        bare_on_device(source);
        put32(claim, source);
    }
}

void board_exit(int status)
{
    put32(TEST_DEVICE, status == 0 ? TEST_PASS : (uint32_t)status << 16 | TEST_FAIL);
    for (;;) {
        arch_wait();
    }
}
