/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (RISC-V, 32 and 64 bits) - the context switch. See the x86-64 one for the technique:
 * an inlined switch that clobbers every register, so that the compiler saves what is live. s0
 * (frame pointer) and s1 (may be the base pointer) cannot be clobbered everywhere and are saved by
 * hand; gp belongs to the program, tp is switched by the environment. fcsr is not switched, as
 * MXCSR on x86-64. Vector registers are not listed: this compiler uses none by itself.
 *
 * The jump goes through t1: through ra or t0 it would count as a return and spoil the return-stack
 * predictor. s0 and ra are zero at the jump: a new thread begins with them, and unwinders stop
 * there.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"
#include "port_asm.h"

/* A register in memory. */
#if __riscv_xlen == 64
#define PORT_ARCH_NAME "riscv64"
#define PORT_ARCH_SAVE "sd"
#define PORT_ARCH_LOAD "ld"
#define PORT_ARCH_WORD "8"
#else
#define PORT_ARCH_NAME "riscv32"
#define PORT_ARCH_SAVE "sw"
#define PORT_ARCH_LOAD "lw"
#define PORT_ARCH_WORD "4"
#endif

/* Of frames: port/env/frames.h. */
#define PORT_ARCH_FRAME_NEXT (-2)
#define PORT_ARCH_FRAME_RETURN (-1)

#ifdef __riscv_flen
#define PORT_ARCH_FP_CLOBBERS                                                                      \
    , "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", \
        "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", \
        "fs6", "fs7", "fs8", "fs9", "fs10", "fs11"
#else
#define PORT_ARCH_FP_CLOBBERS
#endif

struct port_ctx {
    void *sp;
    void *pc;
};

ALWAYS_INLINE void port_ctx_init(struct port_ctx *ctx, void *low, size_t size,
                                 port_ctx_entry_t *entry)
{
    uintptr_t top = ((uintptr_t)low + size) & ~(uintptr_t)15;
    ctx->sp = (void *)top;
    ctx->pc = (void *)entry;
}

ALWAYS_INLINE struct port_note port_ctx_switch(struct port_ctx *from, struct port_ctx *to,
                                               struct port_note note)
{
    register struct port_ctx *f __asm__("a0") = from;
    register struct port_ctx *t __asm__("a1") = to;
    register void *cpu __asm__("a2") = note.cpu;
    register void *arg __asm__("a3") = note.arg;
    register uintptr_t post __asm__("a4") = note.post;
    __asm__ volatile(
        "addi sp, sp, -16\n\t" PORT_ARCH_SAVE " s0, 0(sp)\n\t" PORT_ARCH_SAVE " s1, " PORT_ARCH_WORD
        "(sp)\n\t"
        "lla t1, 1f\n\t" PORT_ARCH_SAVE " sp, 0(a0)\n\t" PORT_ARCH_SAVE " t1, " PORT_ARCH_WORD
        "(a0)\n\t" PORT_ARCH_LOAD " sp, 0(a1)\n\t" PORT_ARCH_LOAD " t1, " PORT_ARCH_WORD "(a1)\n\t"
        "li s0, 0\n\t"
        "li ra, 0\n\t"
        "jr t1\n"
        "1:\n\t" PORT_ARCH_LOAD " s0, 0(sp)\n\t" PORT_ARCH_LOAD " s1, " PORT_ARCH_WORD "(sp)\n\t"
        "addi sp, sp, 16\n\t"
        : "+r"(f), "+r"(t), "+r"(cpu), "+r"(arg), "+r"(post)
        :
        : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a5", "a6", "a7", "s2", "s3", "s4", "s5",
          "s6", "s7", "s8", "s9", "s10", "s11" PORT_ARCH_FP_CLOBBERS, "memory");
    return (struct port_note){f, cpu, arg, post};
}

/* The instruction `pause` (Zihintpause); a fence without effect where it is unknown. */
ALWAYS_INLINE void port_cpu_relax(void)
{
    __asm__ volatile(".4byte 0x0100000f" ::: "memory");
}

/* Initial-exec TLS: the variable's offset, then one read relative to tp. */
#define PORT_ARCH_TLS_LOAD(out, var)                                                               \
    __asm__ volatile("la.tls.ie %0, " #var "\n\tadd %0, %0, tp\n\t" PORT_ARCH_LOAD " %0, 0(%0)"    \
                     : "=&r"(out))

#define PORT_ARCH_TLS_OFFSET(out, var) __asm__("la.tls.ie %0, " #var : "=r"(out))

/* The thread pointer. TLS blocks lie above it (variant 1 of the TLS document). A register like any
 * other. */
#define PORT_ARCH_TLS_VARIANT 1
#define PORT_ARCH_TLS_HWCAP2 0u

ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    uintptr_t tp;
    __asm__ volatile("mv %0, tp" : "=r"(tp));
    return tp;
}

ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    (void)by_instruction;
    __asm__ volatile("mv tp, %0" : : "r"(tp) : "memory");
}

/* Rounding and exception flags. */
struct port_fp {
    uint32_t control;
};

ALWAYS_INLINE void port_arch_fp_save(struct port_fp *fp)
{
#ifdef __riscv_flen
    __asm__ volatile("frcsr %0" : "=r"(fp->control));
#else
    fp->control = 0;
#endif
}

ALWAYS_INLINE void port_arch_fp_load(const struct port_fp *fp, const struct port_fp *now)
{
#ifdef __riscv_flen
    if (unlikely(fp->control != now->control)) {
        __asm__ volatile("fscsr %0" : : "r"(fp->control));
    }
#else
    (void)fp;
    (void)now;
#endif
}

/* Where a signal interrupted (ucontext_t); and go on elsewhere. */
#define PORT_ARCH_SIGNAL_PC(context) ((uintptr_t)(context)->uc_mcontext.__gregs[REG_PC])
#define PORT_ARCH_SIGNAL_GO(context, to) ((context)->uc_mcontext.__gregs[REG_PC] = (to))
#define PORT_ARCH_SIGNAL_SP(context) ((uintptr_t)(context)->uc_mcontext.__gregs[REG_SP])
#define PORT_ARCH_SIGNAL_FP(context) ((uintptr_t)(context)->uc_mcontext.__gregs[REG_S0])
#define PORT_ARCH_SIGNAL_LINK(context) ((uintptr_t)(context)->uc_mcontext.__gregs[REG_RA])

/* A system call; the kernel's result. */
ALWAYS_INLINE long port_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r_a0 __asm__("a0") = a;
    register long r_a1 __asm__("a1") = b;
    register long r_a2 __asm__("a2") = c;
    register long r_a3 __asm__("a3") = d;
    register long r_a4 __asm__("a4") = e;
    register long r_a5 __asm__("a5") = f;
    register long r_a7 __asm__("a7") = number;
    __asm__ volatile("ecall"
                     : "+r"(r_a0)
                     : "r"(r_a7), "r"(r_a1), "r"(r_a2), "r"(r_a3), "r"(r_a4), "r"(r_a5)
                     : "memory");
    return r_a0;
}

/* See the x86-64 port: port_stop_call. */
#define PORT_ARCH_STOP_CALL                                                                        \
    PORT_ASM_FUNCTION(                                                                             \
        port_stop_call,                                                                            \
        PORT_ASM_HIDDEN("port_stop_call, port_stop_begin, port_stop_end, port_stop_out"),          \
        "mv t0, a0\n\t"                                                                            \
        "mv t2, a1\n\t"                                                                            \
        "mv t1, a2\n\t"                                                                            \
        "ld a7, 0(t1)\n\t"                                                                         \
        "ld a0, 8(t1)\n\t"                                                                         \
        "ld a1, 16(t1)\n\t"                                                                        \
        "ld a2, 24(t1)\n\t"                                                                        \
        "ld a3, 32(t1)\n\t"                                                                        \
        "ld a4, 40(t1)\n\t"                                                                        \
        "ld a5, 48(t1)\n"                                                                          \
        "port_stop_begin:\n\t"                                                                     \
        "lw t0, 0(t0)\n\t"                                                                         \
        "and t0, t0, t2\n\t"                                                                       \
        "bnez t0, port_stop_out\n\t"                                                               \
        "ecall\n"                                                                                  \
        "port_stop_end:\n\t"                                                                       \
        "ret\n"                                                                                    \
        "port_stop_out:\n\t"                                                                       \
        "li a0, -4096\n\t"                                                                         \
        "ret")

#endif
