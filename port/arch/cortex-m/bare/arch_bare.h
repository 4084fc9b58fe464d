/* SPDX-License-Identifier: MIT */
/*
 * arch_bare.h (ARM's microcontrollers) - what the bare environment needs of the architecture.
 *
 * There is one core. Programs run privileged in thread mode, on the process stack; handlers of
 * interrupts and of faults run in handler mode, on the main stack, which is the core's trap stack.
 * What disables interrupts is BASEPRI: no interrupt has a higher priority than ARCH_PRIORITY,
 * faults and supervisor calls have one. So the runtime's own supervisor call, by which an
 * interrupted thread goes on (trap.S), works while they are disabled.
 *
 * Stacks are guarded by limits of the stack pointers (BOARD_STACK_LIMITS: ARMv8-M), or by regions
 * of the memory protection unit (BOARD_MPU): region 0 is below the running thread's stack, region 1
 * the lower end of the stack of handlers.
 */
#ifndef PIRN_ARCH_BARE_H
#define PIRN_ARCH_BARE_H

/* trap.S and the context switch know these. */
#define BARE_CORE_STACK_LOW 4
#define BARE_CORE_TRAP_STACK 8

/* The highest of interrupts, and the others: four, in the three upper bits, which every processor
 * has. Less is higher. The core's own ones have priority 0 of those of <pirn/irq.h>. */
#define ARCH_PRIORITY 0x80
#define ARCH_PRIORITY_OF(priority) (0xe0 - 0x20 * (priority))

/* What the hardware puts on the stack: r0 to r3, r12, lr, pc, status; with floating point s0 to
 * s15, its status, and a word. */
#ifdef __ARM_FP
#define ARCH_FRAME_SIZE (26 * 4)
#else
#define ARCH_FRAME_SIZE (8 * 4)
#endif

/* Bytes of its stack that an interrupt needs at most: that, at most four bytes which align it, and
 * a switch to another thread. Handlers have a stack of their own. */
#define ARCH_TRAP_ROOM (ARCH_FRAME_SIZE + 4 + 1024)

/* Thread-local storage begins behind a header of two words, as aligned as it is itself; the thread
 * pointer shows the header. */
#define ARCH_TLS_HEADER ((size_t)__arm32_tls_tcb_offset)
#define ARCH_TLS_OFFSET (0u - ARCH_TLS_HEADER)
#define ARCH_TLS_THREAD 0 /* the linker leaves two words there */

/* Of handlers, and of reports of faults, which may come in handlers. */
#ifndef BARE_TRAP_STACK
#define BARE_TRAP_STACK 4096
#endif
#define ARCH_HANDLERS_ZONE 256 /* of it, which nobody uses */

#ifndef __ASSEMBLER__

#include "board_map.h"
#include "compiler.h"
#include "sizes.h"
#include "system.h"

#if BARE_CORES != 1
#error                                                                                             \
    "this architecture has one core: cpus.most in board.toml is 1, and so is the option PIRN_CPUS_MOST"
#endif

struct cpu;

extern char __arm32_tls_tcb_offset[]; /* the linker's */

struct bare_core {
    struct cpu *cpu;      /* that it executes; NULL: none yet */
    uintptr_t stack_low;  /* lowest address of the running thread's stack */
    uintptr_t trap_stack; /* end of the stack of handlers */
    unsigned long hart;
    uint32_t depth;   /* interrupts under way */
    uint32_t handler; /* 1 and the source whose handler is under way; 0: none is */
    uint32_t below;   /* the same of one that lets in others: bare_irq.c; 0: none is */
    uint32_t from;    /* the lowest priority that it lets in */
};

extern struct bare_core bare_cores[];

ALWAYS_INLINE struct bare_core *arch_core(void)
{
    return &bare_cores[0];
}

void arch_core_set(struct bare_core *core);

/* The running thread's, in handlers, too, which have a stack of their own. */
ALWAYS_INLINE uintptr_t arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("mrs %0, psp" : "=r"(sp));
    return sp;
}

/* 0: interrupts were not out. To raise the priority takes effect at once. */
ALWAYS_INLINE unsigned long arch_irq_save(void)
{
    unsigned long state;
    __asm__ volatile("mrs %0, basepri\n\tmsr basepri, %1"
                     : "=&r"(state)
                     : "r"(ARCH_PRIORITY)
                     : "memory");
    return state;
}

ALWAYS_INLINE void arch_irq_restore(unsigned long state)
{
    if (state == 0) {
        __asm__ volatile("msr basepri, %0" ::"r"(0) : "memory");
    } else {
        __asm__ volatile("" ::: "memory");
    }
}

ALWAYS_INLINE bool arch_irq_is_off(void)
{
    unsigned long state;
    __asm__ volatile("mrs %0, basepri" : "=r"(state));
    return state != 0;
}

/* With interrupts disabled: let in those that are pending, at the barrier at the latest. */
ALWAYS_INLINE void arch_irq_window(void)
{
    __asm__ volatile("msr basepri, %0\n\tisb\n\tmsr basepri, %1" ::"r"(0), "r"(ARCH_PRIORITY)
                     : "memory");
}

/* Accesses before it have ended before anything behind it begins. */
ALWAYS_INLINE void arch_barrier(void)
{
    __asm__ volatile("dsb" ::: "memory");
}

#define ARCH_YIELD
ALWAYS_INLINE void arch_yield(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* Until an interrupt is pending. Those that BASEPRI keeps out would not end the wait; those that
 * PRIMASK keeps out do. */
ALWAYS_INLINE void arch_wait(void)
{
    __asm__ volatile("cpsid i\n\t"
                     "msr basepri, %0\n\t"
                     "dsb\n\t"
                     "wfi\n\t"
                     "msr basepri, %1\n\t"
                     "cpsie i" ::"r"(0),
                     "r"(ARCH_PRIORITY)
                     : "memory");
}

/* The number of the exception that is being handled; 16 and more: of an interrupt of a device. */
#define ARCH_EXCEPTION_NMI 2u
#define ARCH_EXCEPTION_CALL 14u /* asked for by software (PendSV) */
#define ARCH_EXCEPTION_TIMER 15u
#define ARCH_EXCEPTION_DEVICE 16u
ALWAYS_INLINE uint32_t arch_exception(void)
{
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    return number;
}

extern char bare_core_stacks[][BARE_CORE_ROOM];

#if defined(BOARD_STACK_LIMITS)
#define ARCH_GUARD_MOVES
#define ARCH_GUARD_LEAST 8

/* Of `size` bytes from `low` on. */
ALWAYS_INLINE uintptr_t arch_guard_of(uintptr_t low, size_t size)
{
    return low + size;
}

/* A limit above the stack pointer is a fault, so it changes with that: port_ctx_switch. */
ALWAYS_INLINE void arch_guard_set(uintptr_t guard)
{
    (void)guard;
}

/* From now on. */
ALWAYS_INLINE void arch_guard_begin(uintptr_t guard)
{
    __asm__ volatile("msr psplim, %0\n\tmsr msplim, %1" ::"r"(guard),
                     "r"(bare_core_stacks[0] + ARCH_HANDLERS_ZONE)
                     : "memory");
}
#elif defined(BOARD_MPU)
#define ARCH_GUARD_MOVES
#define ARCH_GUARD_LEAST 32

/* A power of two, and a multiple of it: where it is, and how large, as the register has it. */
ALWAYS_INLINE uintptr_t arch_guard_of(uintptr_t low, size_t size)
{
    return low | (uintptr_t)(30 - __builtin_clz((unsigned)size));
}

ALWAYS_INLINE void arch_region_set(uint32_t region, uintptr_t guard)
{
    *(volatile uint32_t *)SYSTEM_MPU_BASE = (guard & ~31u) | MPU_THIS_REGION | region;
    *(volatile uint32_t *)SYSTEM_MPU_REGION = guard != 0 ? (guard & 31u) << 1 | MPU_NOTHING : 0;
}

ALWAYS_INLINE void arch_guard_set(uintptr_t guard)
{
    arch_region_set(0, guard);
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

/* From now on. */
ALWAYS_INLINE void arch_guard_begin(uintptr_t guard)
{
    arch_region_set(1, arch_guard_of((uintptr_t)bare_core_stacks[0], ARCH_HANDLERS_ZONE));
    *(volatile uint32_t *)SYSTEM_MPU_CONTROL = MPU_ON;
    arch_guard_set(guard);
}
#endif

/* Addresses that calls return to say by their lowest bit that the instructions are Thumb's. */
#define ARCH_CODE(address) ((address) & ~(uintptr_t)1)

/* A call of the machine that runs the program (semihosting); -1: there is none. */
long arch_semihost(unsigned long operation, const void *arguments);

#endif
#endif
