/* SPDX-License-Identifier: MIT */
/*
 * arch_bare.h (AArch64, exception level 1) - what the bare environment needs of the architecture.
 *
 * TPIDR_EL1 shows the core's struct bare_core, always. Programs, interrupts and faults have one
 * stack pointer, that of level 1; TPIDRRO_EL0, which nothing else uses, keeps a register for a
 * moment in the interrupt's entry.
 */
#ifndef PIRN_ARCH_BARE_H
#define PIRN_ARCH_BARE_H

/* trap.S knows these. */
#define BARE_CORE_SCRATCH 8
#define BARE_CORE_STACK_LOW 16
#define BARE_CORE_TRAP_STACK 24

/* arch_fault's argument. */
#define ARCH_FAULT_EXCEPTION 0
#define ARCH_FAULT_FAST 1
#define ARCH_FAULT_ERROR 2
#define ARCH_FAULT_LEVEL 3

/* The interrupt's frame: twenty registers that calls do not keep, pc, status; the floating-point
 * unit's control and status; the frame pointer (to be read); all of that unit's registers: of
 * eight, calls keep one half only. A multiple of 16. */
#define ARCH_FRAME_PC (20 * 8)
#define ARCH_FRAME_CONTROL (22 * 8)
#define ARCH_FRAME_CHAIN (24 * 8)
#define ARCH_FRAME_FP (26 * 8)
#define ARCH_FRAME_SIZE (ARCH_FRAME_FP + 32 * 16)

#define ARCH_PAGE 4096 /* what stacks have below them: bare_pages.c */

/* Bytes of its stack that an interrupt needs at most: the frame, and the handlers. */
#define ARCH_TRAP_ROOM (ARCH_FRAME_SIZE + BARE_HANDLER_ROOM)

/* Thread-local storage begins behind a header of two words, as aligned as it is itself; the thread
 * pointer shows the header. */
#define ARCH_TLS_HEADER ((size_t)__arm64_tls_tcb_offset)
#define ARCH_TLS_OFFSET (0u - ARCH_TLS_HEADER)
#define ARCH_TLS_THREAD 0 /* the linker leaves two words there */

#ifndef __ASSEMBLER__

#include "compiler.h"

struct cpu;

extern char __arm64_tls_tcb_offset[]; /* the linker's */

struct bare_core {
    struct cpu *cpu;      /* that it executes; NULL: none yet */
    uintptr_t scratch;    /* of the interrupt's entry */
    uintptr_t stack_low;  /* lowest address of the running thread's stack */
    uintptr_t trap_stack; /* where faults are reported from */
    unsigned long hart;
    uint32_t depth;   /* interrupts under way */
    uint32_t handler; /* 1 and the source whose handler is under way; 0: none is */
    uint32_t below;   /* the same of one that lets in others: bare_irq.c; 0: none is */
    uint32_t from;    /* the lowest priority that it lets in */
};

ALWAYS_INLINE struct bare_core *arch_core(void)
{
    struct bare_core *core;
    __asm__ volatile("mrs %0, tpidr_el1" : "=r"(core));
    return core;
}

ALWAYS_INLINE void arch_core_set(struct bare_core *core)
{
    __asm__ volatile("msr tpidr_el1, %0" ::"r"(core) : "memory");
}

#define ARCH_IRQ_OUT 0x80u /* of the mask bits */

ALWAYS_INLINE uintptr_t arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

/* 0: interrupts were not out. */
ALWAYS_INLINE unsigned long arch_irq_save(void)
{
    unsigned long masks;
    __asm__ volatile("mrs %0, daif\n\tmsr daifset, #2" : "=r"(masks)::"memory");
    return masks & ARCH_IRQ_OUT;
}

ALWAYS_INLINE void arch_irq_restore(unsigned long state)
{
    if (state == 0) {
        __asm__ volatile("msr daifclr, #2" ::: "memory");
    } else {
        __asm__ volatile("" ::: "memory");
    }
}

ALWAYS_INLINE bool arch_irq_is_off(void)
{
    unsigned long masks;
    __asm__ volatile("mrs %0, daif" : "=r"(masks)::"memory");
    return (masks & ARCH_IRQ_OUT) != 0;
}

/* With interrupts disabled: let in those that are pending, at the barrier at the latest. */
ALWAYS_INLINE void arch_irq_window(void)
{
    __asm__ volatile("msr daifclr, #2\n\tisb\n\tmsr daifset, #2" ::: "memory");
}

/* Accesses before it have ended before anything behind it begins. */
ALWAYS_INLINE void arch_barrier(void)
{
    __asm__ volatile("dsb sy" ::: "memory");
}

#define ARCH_YIELD
/* An emulator that executes cores in turns goes on with the next one. */
ALWAYS_INLINE void arch_yield(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* Until an interrupt is pending, masked or not. */
ALWAYS_INLINE void arch_wait(void)
{
    __asm__ volatile("dsb sy\n\twfi" ::: "memory");
}

/* A counter of cycles, for bare_section.c; under QEMU with -icount, of an instruction's
 * nanoseconds. */
#define ARCH_INSTRUCTIONS
ALWAYS_INLINE void arch_instructions_begin(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, pmcr_el0" : "=r"(control));
    __asm__ volatile("msr pmcr_el0, %0" ::"r"(control | 1u << 6 | 1u));
    __asm__ volatile("msr pmcntenset_el0, %0" ::"r"(UINT64_C(1) << 31));
}

ALWAYS_INLINE unsigned long arch_instructions(void)
{
    unsigned long n;
    __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(n)::"memory");
    return n;
}

/* Of the translation tables (map.S, bare_pages.c): pages and blocks of ordinary memory. */
#define ARCH_BLOCK (2u << 20)
typedef uint64_t arch_translation_t;
#define ARCH_PAGE_OF(address) ((address) | 0x707u) /* MEMORY of map.S, but of a page */
#define ARCH_TABLE_OF(address) ((address) | 3u)

ALWAYS_INLINE arch_translation_t *arch_block(uintptr_t address)
{
    extern arch_translation_t arch_blocks[];
    return &arch_blocks[address / ARCH_BLOCK];
}

/* A translation has been written: the hardware, which reads it in the data cache, finds it. */
ALWAYS_INLINE void arch_translation_clean(const arch_translation_t *at)
{
    (void)at;
}

/* Accesses behind it use what has been written. */
ALWAYS_INLINE void arch_translations_ready(void)
{
    __asm__ volatile("dsb ishst\n\tisb" ::: "memory");
}

/* No core has the old ones any more: of all addresses, of a page. */
ALWAYS_INLINE void arch_translations_forget(void)
{
    __asm__ volatile("tlbi vmalle1is\n\tdsb ish\n\tisb" ::: "memory");
}

ALWAYS_INLINE void arch_translation_forget(uintptr_t address)
{
    __asm__ volatile("dsb ishst\n\ttlbi vaae1is, %0\n\tdsb ish\n\tisb" ::"r"(address >> 12)
                     : "memory");
}

/* A call of the machine that runs the program (semihosting); -1: there is none. */
long arch_semihost(unsigned long operation, const void *arguments);

#endif
#endif
