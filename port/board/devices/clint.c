/* SPDX-License-Identifier: MIT */
/*
 * clint.c - SiFive's core-local interruptor (RISC-V): the clock, a timer for each hart, and
 * interrupts between harts. Harts of cpus.parked (start.S) exist here, too.
 * Of image.addresses: clock_hz, ticks of its clock a second (default 10 MHz).
 */
#include "arch_bare.h"
#include "bare.h"
#include "board.h"
#include "board_map.h"
#include "harts.h"
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
