/* SPDX-License-Identifier: MIT */
/*
 * arch_bare.h (ARM, privileged modes) - what the bare environment needs of the architecture.
 *
 * Programs run in system mode, the whole time but for some instructions. The register TPIDRPRW
 * shows the core's struct bare_core, and so do the stack pointers of the modes that interrupts and
 * faults come in, which have no other use: their stack is the running thread's.
 */
#ifndef PIRN_ARCH_BARE_H
#define PIRN_ARCH_BARE_H

/* trap.S knows these, and that `scratch` is behind `cpu`. */
#define BARE_CORE_STACK_LOW 12
#define BARE_CORE_TRAP_STACK 16

/* arch_fault's argument. */
#define ARCH_FAULT_UNDEFINED 0
#define ARCH_FAULT_FETCH 1
#define ARCH_FAULT_DATA 2
#define ARCH_FAULT_CALL 3
#define ARCH_FAULT_FAST 4

#define ARCH_MODE_INTERRUPT 0x12
#define ARCH_MODE_SYSTEM 0x1f

/* The interrupt's frame: six registers that calls do not keep and the frame pointer (to be read),
 * pc, status; at most four bytes that align it; two words; the registers of the floating-point unit
 * that calls do not keep. */
#ifdef __ARM_NEON
#define ARCH_FRAME_FP (24 * 8)
#else
#define ARCH_FRAME_FP (8 * 8)
#endif
#define ARCH_FRAME_SIZE (9 * 4 + 4 + 8 + ARCH_FRAME_FP)

#define ARCH_PAGE 4096 /* what stacks have below them: bare_pages.c */

/* Bytes of its stack that an interrupt needs at most: the frame, and the handlers. */
#define ARCH_TRAP_ROOM (ARCH_FRAME_SIZE + BARE_HANDLER_ROOM)

/* Thread-local storage begins behind a header of two words, as aligned as it is itself; the thread
 * pointer shows the header. */
#define ARCH_TLS_HEADER ((size_t)__arm32_tls_tcb_offset)
#define ARCH_TLS_OFFSET (0u - ARCH_TLS_HEADER)
#define ARCH_TLS_THREAD 0 /* the linker leaves two words there */

#ifndef __ASSEMBLER__

#include "compiler.h"

struct cpu;

extern char __arm32_tls_tcb_offset[]; /* the linker's */

struct bare_core {
    struct cpu *cpu;      /* that it executes; NULL: none yet */
    uintptr_t scratch[2]; /* of the trap's entry */
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
    __asm__ volatile("mrc p15, 0, %0, c13, c0, 4" : "=r"(core));
    return core;
}

void arch_core_set(struct bare_core *core);

#define ARCH_IRQ_OUT 0x80u /* of the status */

ALWAYS_INLINE uintptr_t arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

/* 0: interrupts were not out. */
ALWAYS_INLINE unsigned long arch_irq_save(void)
{
    unsigned long status;
    __asm__ volatile("mrs %0, cpsr\n\tcpsid i" : "=r"(status)::"memory");
    return status & ARCH_IRQ_OUT;
}

ALWAYS_INLINE void arch_irq_restore(unsigned long state)
{
    if (state == 0) {
        __asm__ volatile("cpsie i" ::: "memory");
    } else {
        __asm__ volatile("" ::: "memory");
    }
}

ALWAYS_INLINE bool arch_irq_is_off(void)
{
    unsigned long status;
    __asm__ volatile("mrs %0, cpsr" : "=r"(status)::"memory");
    return (status & ARCH_IRQ_OUT) != 0;
}

#if __ARM_ARCH >= 7
#define ARCH_BARRIER "dsb"
#define ARCH_FLUSH "isb"
#else
#define ARCH_BARRIER "mcr p15, 0, %0, c7, c10, 4"
#define ARCH_FLUSH "mcr p15, 0, %0, c7, c5, 4"
#endif

/* With interrupts disabled: let in those that are pending, at the barrier at the latest. */
ALWAYS_INLINE void arch_irq_window(void)
{
    __asm__ volatile("cpsie i\n\t" ARCH_FLUSH "\n\tcpsid i" ::"r"(0) : "memory");
}

/* Accesses before it have ended before anything behind it begins. */
ALWAYS_INLINE void arch_barrier(void)
{
    __asm__ volatile(ARCH_BARRIER ::"r"(0) : "memory");
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
    arch_barrier();
    __asm__ volatile("wfi" ::: "memory");
}

#if __ARM_ARCH >= 7
/* A counter of cycles, for bare_section.c; under QEMU with -icount, of an instruction's
 * nanoseconds. */
#define ARCH_INSTRUCTIONS
ALWAYS_INLINE void arch_instructions_begin(void)
{
    uint32_t control;
    __asm__ volatile("mrc p15, 0, %0, c9, c12, 0" : "=r"(control));
    __asm__ volatile("mcr p15, 0, %0, c9, c12, 0" ::"r"(control | 1u));
    __asm__ volatile("mcr p15, 0, %0, c9, c12, 1" ::"r"(1u << 31));
}

ALWAYS_INLINE unsigned long arch_instructions(void)
{
    unsigned long n;
    __asm__ volatile("mrc p15, 0, %0, c9, c13, 0" : "=r"(n)::"memory");
    return n;
}
#endif

/* Of the translation tables (map.S, bare_pages.c): pages and blocks of ordinary memory. */
#define ARCH_BLOCK (1u << 20)
typedef uint32_t arch_translation_t;
#define ARCH_PAGE_OF(address) ((address) | 0x45eu) /* MEMORY of map.S, but of a page */
#define ARCH_TABLE_OF(address) ((address) | 1u)

ALWAYS_INLINE arch_translation_t *arch_block(uintptr_t address)
{
    extern arch_translation_t arch_map[];
    return &arch_map[address / ARCH_BLOCK];
}

/* A translation has been written: the hardware reads it in memory, not in the data cache. */
ALWAYS_INLINE void arch_translation_clean(const arch_translation_t *at)
{
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 1" ::"r"(at) : "memory");
}

/* Accesses behind it use what has been written. */
ALWAYS_INLINE void arch_translations_ready(void)
{
    __asm__ volatile(ARCH_BARRIER "\n\t" ARCH_FLUSH ::"r"(0) : "memory");
}

/* No core has the old ones any more: of all addresses, of a page. On ARMv6 that is so of the
 * calling core only; another one may use memory where a guard has come, until it forgets it. */
#if __ARM_ARCH >= 7
#define ARCH_FORGET_ALL "mcr p15, 0, %0, c8, c3, 0"
#define ARCH_FORGET "mcr p15, 0, %0, c8, c3, 3"
#else
#define ARCH_FORGET_ALL "mcr p15, 0, %0, c8, c7, 0"
#define ARCH_FORGET "mcr p15, 0, %0, c8, c7, 3"
#endif
ALWAYS_INLINE void arch_translations_forget(void)
{
    __asm__ volatile(ARCH_FORGET_ALL "\n\t" ARCH_BARRIER "\n\t" ARCH_FLUSH ::"r"(0) : "memory");
}

ALWAYS_INLINE void arch_translation_forget(uintptr_t address)
{
    arch_barrier();
    __asm__ volatile(ARCH_FORGET "\n\t" ARCH_BARRIER "\n\t" ARCH_FLUSH ::"r"(address) : "memory");
}

/* A call of the machine that runs the program (semihosting); -1: there is none. */
long arch_semihost(unsigned long operation, const void *arguments);

#endif
#endif
