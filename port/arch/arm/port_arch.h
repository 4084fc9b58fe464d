/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (ARM of 32 bits: ARMv6K, ARMv7-A) - the context switch. See the x86-64 one for the
 * technique: an inlined switch that clobbers every register, so that the compiler saves what is
 * live. r11 and r7 (frame pointers of the two instruction sets) cannot be clobbered everywhere and
 * are saved by hand. All of d0-d15 is listed, though only d8-d15 are callee-saved; FPSCR is
 * switched by port_fp only, as MXCSR on x86-64.
 *
 * A function has four arguments in registers here, and the fifth one at the top of its stack: a
 * stopped thread's stack has room for one word there, which the switch fills, so that a new
 * thread's entry finds it. A thread that continues finds it in r4.
 *
 * The jump goes through r12: through lr it would count as a return and spoil the return-stack
 * predictor. r11 and lr are zero at the jump: a new thread begins with them, and unwinders stop
 * there.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"

#ifdef __thumb__
#error "the switch jumps to a label as to ARM code: compile with -marm"
#endif

#define PORT_ARCH_NAME "arm"

/* Of frames, as gcc makes them: port/env/frames.h. */
#define PORT_ARCH_FRAME_NEXT (-1)
#define PORT_ARCH_FRAME_RETURN 0

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
#ifdef __ARM_NEON
#define PORT_ARCH_NEON_CLOBBERS                                                                    \
    , "d16", "d17", "d18", "d19", "d20", "d21", "d22", "d23", "d24", "d25", "d26", "d27", "d28",   \
        "d29", "d30", "d31"
#else
#define PORT_ARCH_NEON_CLOBBERS
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
    ctx->pc = (void *)entry;
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
                     "adr r12, 1f\n\t"
                     "str r11, [sp, #8]\n\t"
                     "str r7, [sp, #12]\n\t"
                     "str sp, [r0]\n\t"
                     "str r12, [r0, #4]\n\t"
                     "ldr sp, [r1]\n\t"
                     "ldr r12, [r1, #4]\n\t"
                     "str r4, [sp]\n\t"
                     "mov r11, #0\n\t"
                     "mov lr, #0\n\t"
                     "bx r12\n"
                     "1:\n\t"
                     "ldr r11, [sp, #8]\n\t"
                     "ldr r7, [sp, #12]\n\t"
                     "add sp, sp, #16\n\t"
                     : "+r"(f), "+r"(t), "+r"(cpu), "+r"(arg), "+r"(post)
                     :
                     : "r5", "r6", "r8", "r9", "r10", "r12",
                       "lr" PORT_ARCH_FP_CLOBBERS PORT_ARCH_NEON_CLOBBERS, "cc", "memory");
    return (struct port_note){f, cpu, arg, post};
}

ALWAYS_INLINE void port_cpu_relax(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* The thread pointer, a register that compilers read by one instruction for these architectures;
 * for older ones they call __aeabi_read_tp, which the C library would answer with one word for all
 * cores. */
ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    uintptr_t tp;
    __asm__ volatile("mrc p15, 0, %0, c13, c0, 3" : "=r"(tp));
    return tp;
}

ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    (void)by_instruction;
    __asm__ volatile("mcr p15, 0, %0, c13, c0, 3" : : "r"(tp) : "memory");
}

/* Rounding, exception enables, exception flags; flags of the last comparison. */
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
