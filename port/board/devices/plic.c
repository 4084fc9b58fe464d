/* SPDX-License-Identifier: MIT */
/*
 * plic.c - SiFive's platform-level interrupt controller (RISC-V): interrupts of devices.
 *
 * A source of priority p has p + 1 in the controller, where 0 never interrupts; the threshold is
 * what does not interrupt the core. The controller ignores the end of an interrupt that is not
 * enabled for the core. So one that is disabled gets priority 0 and stays enabled for its core, and
 * the end of a handler looks whether it has moved: whoever moves it writes that down first.
 *
 * Of image.addresses: plic_sources, the highest source (default 95); plic_hart0_machine_only, if
 * hart 0 has no supervisor mode; chip, if a source has one bit of priority.
 */
#include "arch_bare.h"
#include "bare.h"
#include "board.h"
#include "board_map.h"
#include "harts.h"
#include "mmio.h"

#define PLIC 0x0c000000u

/* Of each hart machine mode's context and supervisor mode's, `bytes` each. Without supervisor mode
 * in hart 0, the others come one earlier. */
#ifdef BOARD_PLIC_HART0_MACHINE_ONLY
#define PLIC_CONTEXT(bytes, hart) ((hart) == 0 ? 0 : (bytes) * (2u * (unsigned)(hart)-1u))
#else
#define PLIC_CONTEXT(bytes, hart) (2u * (bytes) * (hart))
#endif
#define PLIC_PRIORITY(source) (PLIC + 4u * (source))
#define PLIC_ENABLE(hart, source) (PLIC + 0x2000u + PLIC_CONTEXT(0x80u, hart) + (source) / 32u * 4u)
#define PLIC_THRESHOLD(hart) (PLIC + 0x200000u + PLIC_CONTEXT(0x1000u, hart))
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

#define MIE_SOFT 0x8u
#define MIE_TIMER 0x80u
#define MIE_DEVICE 0x800u

void harts_core_begin(void)
{
    board_timer_set(UINT64_MAX);
    board_ipi_taken();
    put32(PLIC_THRESHOLD(arch_core()->hart), 0);
    __asm__ volatile("csrw mie, %0" ::"r"((unsigned long)(MIE_SOFT | MIE_TIMER | MIE_DEVICE)));
}

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
