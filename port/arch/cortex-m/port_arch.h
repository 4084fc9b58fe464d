/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (ARM's microcontrollers: ARMv7-M, ARMv8-M with main extension) - the context switch.
 * See the x86-64 one for the technique, and the one of ARM for the fifth argument. r7 and r11
 * cannot be clobbers everywhere and are saved by hand. Of the floating-point registers s0 to s31
 * are listed, as d0 to d15; FPSCR is switched by port_fp only.
 *
 * Addresses of functions have the lowest bit set, which says Thumb; `pc` has not, as the move to pc
 * needs no bit.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"

#define PORT_ARCH_NAME "arm"

/* Thumb code has no chain of frames. */
#define PORT_ARCH_FRAME_NONE

#ifdef __ARM_FP
#define PORT_ARCH_FP_READ "vmrs %0, fpscr"
#define PORT_ARCH_FP_WRITE "vmsr fpscr, %0"
#define PORT_ARCH_FP_CLOBBERS                                                                      \
    , "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13",      \
        "d14", "d15"
#else
#define PORT_ARCH_FP_READ "mov %0, #0"
#define PORT_ARCH_FP_WRITE ""
#define PORT_ARCH_FP_CLOBBERS
#endif

/* ARMv8-M: no limit of the stack pointer, and then the next thread's: struct bare_core has its
 * stack's lowest address (stack_low) behind the CPU. */
#if __ARM_ARCH >= 8
#define PORT_ARCH_LIMIT_NONE                                                                       \
    "movs r5, #0\n\t"                                                                              \
    "msr psplim, r5\n\t"
#define PORT_ARCH_LIMIT                                                                            \
    "movw r5, #:lower16:bare_cores\n\t"                                                            \
    "movt r5, #:upper16:bare_cores\n\t"                                                            \
    "ldr r5, [r5, #4]\n\t"                                                                         \
    "msr psplim, r5\n\t"
#else
#define PORT_ARCH_LIMIT_NONE
#define PORT_ARCH_LIMIT
#endif

struct port_ctx {
    void *sp;
    void *pc;
};

/* Room for the fifth argument, and alignment. */
#define PORT_ARCH_CALL_ROOM 8u

ALWAYS_INLINE void port_ctx_init(struct port_ctx *ctx, void *low, size_t size,
                                 port_ctx_entry_t *entry)
{
    uintptr_t top = ((uintptr_t)low + size) & ~(uintptr_t)15;
    ctx->sp = (void *)(top - PORT_ARCH_CALL_ROOM);
    ctx->pc = (void *)((uintptr_t)entry & ~(uintptr_t)1);
}

ALWAYS_INLINE struct port_note port_ctx_switch(struct port_ctx *from, struct port_ctx *to,
                                               struct port_note note)
{
    register struct port_ctx *f __asm__("r0") = from;
    register struct port_ctx *t __asm__("r1") = to;
    register void *cpu __asm__("r2") = note.cpu;
    register void *arg __asm__("r3") = note.arg;
    register uintptr_t post __asm__("r4") = note.post;
    __asm__ volatile("sub sp, sp, #16\n\t"
                     "adr.w r12, 1f\n\t"
                     "str r11, [sp, #8]\n\t"
                     "str r7, [sp, #12]\n\t"
                     "str sp, [r0]\n\t"
                     "str r12, [r0, #4]\n\t" PORT_ARCH_LIMIT_NONE "ldr sp, [r1]\n\t" PORT_ARCH_LIMIT
                     "ldr r12, [r1, #4]\n\t"
                     "str r4, [sp]\n\t"
                     "mov r11, #0\n\t"
                     "mov lr, #0\n\t"
                     "mov pc, r12\n\t"
                     ".balign 4\n"
                     "1:\n\t"
                     "ldr r11, [sp, #8]\n\t"
                     "ldr r7, [sp, #12]\n\t"
                     "add sp, sp, #16\n\t"
                     : "+r"(f), "+r"(t), "+r"(cpu), "+r"(arg), "+r"(post)
                     :
                     : "r5", "r6", "r8", "r9", "r10", "r12", "lr" PORT_ARCH_FP_CLOBBERS, "cc",
                       "memory");
    return (struct port_note){f, cpu, arg, post};
}

ALWAYS_INLINE void port_cpu_relax(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* The thread pointer: there is no register for it, and one core. Compilers call __aeabi_read_tp. */
extern HIDDEN uintptr_t arch_thread_pointer;

ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    return *(volatile uintptr_t *)&arch_thread_pointer;
}

ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    (void)by_instruction;
    *(volatile uintptr_t *)&arch_thread_pointer = tp;
}

/* Rounding, exception flags; flags of the last comparison. */
struct port_fp {
    uint32_t control;
};

ALWAYS_INLINE void port_arch_fp_save(struct port_fp *fp)
{
    __asm__ volatile(PORT_ARCH_FP_READ : "=r"(fp->control));
}

ALWAYS_INLINE void port_arch_fp_load(const struct port_fp *fp, const struct port_fp *now)
{
    if (unlikely(fp->control != now->control)) {
        __asm__ volatile(PORT_ARCH_FP_WRITE : : "r"(fp->control));
    }
}

#endif
