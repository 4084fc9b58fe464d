/* SPDX-License-Identifier: MIT */
/*
 * arch_bare.h (RISC-V, machine mode) - what the bare environment needs of the architecture.
 *
 * mscratch shows the core's struct bare_core, always: the trap's entry swaps it with a register for
 * a moment.
 *
 * The guard of a stack (BOARD_PMP_GRANULE: there is physical memory protection, PMP): unlocked
 * entries do not bind machine mode, and locked ones cannot follow the running thread. So data are
 * accessed with the rights of lower levels (MPRV), for which entry 0 refuses the memory below the
 * running thread's stack, and entry 1 allows all. A trap's entry has machine mode's rights until it
 * has saved its frame (trap.S), and so has the report of an overflow.
 */
#ifndef PIRN_ARCH_BARE_H
#define PIRN_ARCH_BARE_H

#include "board_map.h"

/* trap.S and start.S know these. */
#if __riscv_xlen == 64
#define ARCH_WORD 8
#else
#define ARCH_WORD 4
#endif
#define BARE_CORE_SCRATCH (1 * ARCH_WORD)
#define BARE_CORE_STACK_LOW (2 * ARCH_WORD)
#define BARE_CORE_TRAP_STACK (3 * ARCH_WORD)

/* The trap's frame: sixteen registers that calls do not keep, pc, status, the frame pointer (to be
 * read); twenty of the floating-point unit, and its control. A multiple of 16. */
#define ARCH_FRAME_PC (16 * ARCH_WORD)
#define ARCH_FRAME_STATUS (17 * ARCH_WORD)
#define ARCH_FRAME_CHAIN (18 * ARCH_WORD)
#define ARCH_FRAME_FP (20 * ARCH_WORD)
#ifdef __riscv_flen
#define ARCH_FRAME_FCSR (ARCH_FRAME_FP + 20 * (__riscv_flen / 8))
#define ARCH_FRAME_SIZE ((ARCH_FRAME_FCSR + ARCH_WORD + 15) / 16 * 16)
#else
#define ARCH_FRAME_SIZE ((ARCH_FRAME_FP + 15) / 16 * 16)
#endif

/* Bytes of its stack that an interrupt needs at most: the frame, and the handlers. */
#define ARCH_TRAP_ROOM (ARCH_FRAME_SIZE + BARE_HANDLER_ROOM)

#define ARCH_MIE 8u /* of mstatus */

/* Of mstatus: the level that data are accessed with, and that they are accessed with it. */
#define ARCH_MPP 0x1800
#define ARCH_MPRV 0x20000

/* Thread-local storage begins at the thread pointer. */
#define ARCH_TLS_HEADER ((size_t)__tls_header)
#define ARCH_TLS_OFFSET 0u
#define ARCH_TLS_THREAD (0 - ARCH_WORD)

#ifndef __ASSEMBLER__

#include "compiler.h"

struct cpu;

extern char __tls_header[]; /* an absolute symbol: image.ld */

struct bare_core {
    struct cpu *cpu;      /* that it executes; NULL: none yet */
    uintptr_t scratch;    /* of the trap's entry */
    uintptr_t stack_low;  /* lowest address of the running thread's stack */
    uintptr_t trap_stack; /* where a stack that is full is reported from */
    unsigned long hart;
    uint32_t depth;   /* interrupts under way */
    uint32_t handler; /* 1 and the source whose handler is under way; 0: none is */
    uint32_t below;   /* the same of one that lets in others: bare_irq.c; 0: none is */
    uint32_t from;    /* the lowest priority that it lets in */
};

#if defined(RT_MAX_CPUS) && RT_MAX_CPUS == 1
extern struct bare_core bare_cores[]; /* bare.h */

ALWAYS_INLINE struct bare_core *arch_core(void)
{
    return bare_cores;
}
#else
ALWAYS_INLINE struct bare_core *arch_core(void)
{
    struct bare_core *core;
    __asm__ volatile("csrr %0, mscratch" : "=r"(core));
    return core;
}
#endif

ALWAYS_INLINE void arch_core_set(struct bare_core *core)
{
    __asm__ volatile("csrw mscratch, %0" ::"r"(core) : "memory");
}

ALWAYS_INLINE uintptr_t arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("mv %0, sp" : "=r"(sp));
    return sp;
}

/* 0: interrupts were not out. */
ALWAYS_INLINE unsigned long arch_irq_save(void)
{
    unsigned long status;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return ~status & ARCH_MIE;
}

ALWAYS_INLINE void arch_irq_restore(unsigned long state)
{
    __asm__ volatile("csrs mstatus, %0" ::"r"(state ^ ARCH_MIE) : "memory");
}

ALWAYS_INLINE bool arch_irq_is_off(void)
{
    unsigned long status;
    __asm__ volatile("csrr %0, mstatus" : "=r"(status)::"memory");
    return (status & ARCH_MIE) == 0;
}

/* With interrupts disabled: let in those that are pending. */
ALWAYS_INLINE void arch_irq_window(void)
{
    __asm__ volatile("csrsi mstatus, 8\n\tcsrci mstatus, 8" ::: "memory");
}

/* A counter of instructions, for bare_section.c; under QEMU with -icount, of their nanoseconds. */
#define ARCH_INSTRUCTIONS
ALWAYS_INLINE void arch_instructions_begin(void) {}

ALWAYS_INLINE unsigned long arch_instructions(void)
{
    unsigned long n;
    __asm__ volatile("csrr %0, minstret" : "=r"(n)::"memory");
    return n;
}

/* Until an interrupt is pending, masked or not. */
ALWAYS_INLINE void arch_wait(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

#ifdef BOARD_PMP_GRANULE
#define ARCH_GUARD_MOVES
#define ARCH_GUARD_LEAST BOARD_PMP_GRANULE

/* Of `size` bytes from `low` on: a power of two, and a multiple of it. */
ALWAYS_INLINE uintptr_t arch_guard_of(uintptr_t low, size_t size)
{
    return low >> 2 | (size / 8 - 1);
}

ALWAYS_INLINE void arch_guard_set(uintptr_t guard)
{
    __asm__ volatile("csrw pmpaddr0, %0\n\tsfence.vma" ::"r"(guard) : "memory");
}

/* On this core, from now on. */
ALWAYS_INLINE void arch_guard_begin(uintptr_t guard)
{
    arch_guard_set(guard);
    __asm__ volatile("csrw pmpaddr1, %0\n\tcsrw pmpcfg0, %1\n\tsfence.vma\n\t"
                     "csrc mstatus, %2\n\tcsrs mstatus, %3" ::"r"(-1l),
                     "r"(0x1f18l), "r"((long)ARCH_MPP), "r"((long)ARCH_MPRV)
                     : "memory");
}
#endif

/* A call of the machine that runs the program (semihosting); -1: there is none. */
long arch_semihost(unsigned long operation, const void *arguments);

#endif
#endif
