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
#ifdef BOARD_CHIP
#define PLIC_PRIORITIES 1u
#else
#define PLIC_PRIORITIES 7u
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
    put32(PLIC_THRESHOLD(arch_core()->hart), 0);
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

/*
 * A source of priority p has p + 1 in the controller, where 0 never interrupts; the threshold is
 * what does not interrupt the core. The controller ignores the end of an interrupt that is not
 * enabled for the core. So one that is disabled gets priority 0 and stays enabled for its core, and
 * the end of a handler looks whether it has moved: whoever moves it writes that down first.
 */

static uint32_t enables;                /* lock of the words of bits */
static uint8_t harts[PLIC_SOURCES + 1]; /* that each source interrupts */

bool board_irq_has(unsigned source, unsigned hart, unsigned priority)
{
    (void)hart;
    return source != 0 && source <= PLIC_SOURCES && priority < PLIC_PRIORITIES;
}

static void enable(unsigned source, unsigned hart, bool on)
{
    uintptr_t word = PLIC_ENABLE(hart, source);
    uint32_t bit = 1u << source % 32;
    put32(word, on ? get32(word) | bit : get32(word) & ~bit);
}

void board_irq_enable(unsigned source, unsigned hart, unsigned priority)
{
    STORE_RLX(&harts[source], (uint8_t)hart);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(moved) */
    unsigned long irq = bare_lock(&enables);
    for (unsigned i = 0; i < board_core_count() + PARKED; i++) {
        enable(source, i, i == hart);
    }
    bare_unlock(&enables, irq);
    put32(PLIC_PRIORITY(source), priority + 1);
}

void board_irq_disable(unsigned source, unsigned hart)
{
    (void)hart;
    put32(PLIC_PRIORITY(source), 0);
}

/* What is read back has reached the controller, before interrupts are enabled. */
void board_irq_admit(unsigned from)
{
    uintptr_t threshold = PLIC_THRESHOLD(arch_core()->hart);
    put32(threshold, from);
    (void)get32(threshold);
}

/* It has moved while its handler ran. */
static NOINLINE COLD void end_moved(unsigned source, unsigned hart)
{
    unsigned long irq = bare_lock(&enables);
    enable(source, hart, true);
    put32(PLIC_CLAIM(hart), source);
    enable(source, hart, false);
    bare_unlock(&enables, irq);
}

void board_on_device(void)
{
    uintptr_t claim = PLIC_CLAIM(arch_core()->hart);
    uint32_t source = get32(claim);
    if (source != 0) {
        bare_on_device(source);
        put32(claim, source);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(moved) */
        unsigned long hart = arch_core()->hart;
        if (BARE_CORES > 1 && unlikely(__atomic_load_n(&harts[source], __ATOMIC_RELAXED) != hart)) {
            end_moved(source, (unsigned)hart);
        }
    }
}

void board_exit(int status)
{
    put32(TEST_DEVICE, status == 0 ? TEST_PASS : (uint32_t)status << 16 | TEST_FAIL);
    for (;;) {
        arch_wait();
    }
}
