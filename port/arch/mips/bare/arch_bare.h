/* SPDX-License-Identifier: MIT */
/*
 * arch_bare.h (MIPS32 release 2, kernel mode) - what the bare environment needs of the
 * architecture.
 *
 * KScratch1 (CP0 register 31, select 2) shows the core's struct bare_core, always. $26 and $27
 * belong to the trap's entry, which nothing interrupts.
 *
 * Interrupts are in the general vector; a board wires its kinds to the lines below.
 */
#ifndef PIRN_ARCH_BARE_H
#define PIRN_ARCH_BARE_H

/* trap.S and start.S know these. */
#define BARE_CORE_STACK_LOW 4
#define BARE_CORE_TRAP_STACK 8

/* The trap's frame: room for a call's arguments, what calls do not keep, pc, status; twenty
 * registers of the floating-point unit, by pairs, and its control. A multiple of 16. */
#define ARCH_FRAME_HI 92 /* and lo */
#define ARCH_FRAME_PC 100
#define ARCH_FRAME_STATUS 104
#define ARCH_FRAME_FCSR 108
#define ARCH_FRAME_FP 112
#define ARCH_FRAME_SIZE 192

/* Bytes of its stack that an interrupt needs at most: the frame, and the handlers. */
#define ARCH_TRAP_ROOM (ARCH_FRAME_SIZE + BARE_HANDLER_ROOM)

/* Lines of interrupts, as Cause and Status number them: the one that software sets, two for boards
 * to wire, the CPU's timer. */
#define ARCH_LINE_SELF 0
#define ARCH_LINE_DEVICE 2
#define ARCH_LINE_IPI 3
#define ARCH_LINE_TIMER 7
#define ARCH_CAUSE(line) (0x100 << (line))

/* Status: floating point on, these lines, and nothing else: kernel mode, interrupts disabled. */
#define ARCH_STATUS                                                                                \
    (0x20000000 | ARCH_CAUSE(ARCH_LINE_SELF) | ARCH_CAUSE(ARCH_LINE_DEVICE) |                      \
     ARCH_CAUSE(ARCH_LINE_IPI) | ARCH_CAUSE(ARCH_LINE_TIMER))
#define ARCH_IE 1

/* The thread pointer's distance from its block. */
#define ARCH_TLS_HEADER ((size_t)__tls_header)
#define ARCH_TLS_OFFSET 0x7000u
#define ARCH_TLS_THREAD (-0x7000 - 4)

#ifndef __ASSEMBLER__

#include "compiler.h"

struct cpu;

extern char __tls_header[]; /* an absolute symbol: image.ld */

struct bare_core {
    struct cpu *cpu;      /* that it executes; NULL: none yet */
    uintptr_t stack_low;  /* lowest address of the running thread's stack */
    uintptr_t trap_stack; /* where a stack that is full is reported from */
    unsigned long hart;
    uint32_t depth;   /* interrupts under way */
    uint32_t handler; /* 1 and the source whose handler is under way; 0: none is */
    uint32_t below;   /* the same of one that lets in others: bare_irq.c; 0: none is */
    uint32_t from;    /* the lowest priority that it lets in */
};

/* A register of coprocessor 0. */
#define ARCH_CP0_READ(number, select)                                                              \
    __extension__({                                                                                \
        uint32_t value_;                                                                           \
        __asm__ volatile("mfc0 %0, $" #number ", " #select : "=r"(value_));                        \
        value_;                                                                                    \
    })
#define ARCH_CP0_WRITE(number, select, value)                                                      \
    __asm__ volatile("mtc0 %0, $" #number ", " #select "\n\tehb" ::"r"(value) : "memory")

ALWAYS_INLINE struct bare_core *arch_core(void)
{
    struct bare_core *core;
    __asm__ volatile("mfc0 %0, $31, 2" : "=r"(core));
    return core;
}

ALWAYS_INLINE void arch_core_set(struct bare_core *core)
{
    ARCH_CP0_WRITE(31, 2, core);
}

ALWAYS_INLINE uintptr_t arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("move %0, $29" : "=r"(sp));
    return sp;
}

/* 0: interrupts were not out. */
ALWAYS_INLINE unsigned long arch_irq_save(void)
{
    unsigned long status;
    __asm__ volatile("di %0\n\tehb" : "=r"(status)::"memory");
    return ~status & ARCH_IE;
}

/* Pending interrupts are taken in here. */
ALWAYS_INLINE void arch_irq_restore(unsigned long state)
{
    if (state == 0) {
        __asm__ volatile("ei\n\tehb" ::: "memory");
    }
}

ALWAYS_INLINE bool arch_irq_is_off(void)
{
    return (ARCH_CP0_READ(12, 0) & ARCH_IE) == 0;
}

/* With interrupts disabled: let in those that are pending. */
ALWAYS_INLINE void arch_irq_window(void)
{
    __asm__ volatile("ei\n\tehb\n\tdi\n\tehb" ::: "memory");
}

/* With interrupts disabled: until one is pending. */
void arch_wait(void);

/* Where the other cores begin; a page, as the hardware wants it, in memory that is not cached. */
uintptr_t arch_reset_page(void);

/* A counter of every second cycle, for bare_section.c; under QEMU with -icount it goes with the
 * nanoseconds that instructions take. */
#define ARCH_INSTRUCTIONS
ALWAYS_INLINE void arch_instructions_begin(void) {}

ALWAYS_INLINE unsigned long arch_instructions(void)
{
    return ARCH_CP0_READ(9, 0);
}

/* A call of the machine that runs the program, by the numbers of semihost.h; -1: there is none. */
long arch_semihost(unsigned long operation, const void *arguments);

/* One by the numbers of MIPS's own specification (UHI): its result, and the error's number. */
long arch_uhi(unsigned long operation, unsigned long first, unsigned long second,
              unsigned long third, long *error);

#endif
#endif
