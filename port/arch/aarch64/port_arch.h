/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (AArch64) - the context switch. See the x86-64 one for the technique: an inlined
 * switch that clobbers every register, so that the compiler saves what is live. x29 (frame pointer)
 * and x19 (may be the base pointer) cannot be clobbered everywhere and are saved by hand. x18 is an
 * ordinary register on Linux. The whole of v8..v15 is listed, though only the low halves are
 * callee-saved. FPCR and FPSR are switched by port_fp only, as MXCSR on x86-64.
 *
 * The jump goes through x16, which may lead to a function's start as well as to a label where
 * branch targets are checked (BTI); `hint #36` is the label's mark, "bti j". x29 and x30 are zero
 * at the jump: a new thread begins with them, and unwinders stop there.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"

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
    register struct port_ctx *f __asm__("x0") = from;
    register struct port_ctx *t __asm__("x1") = to;
    register void *cpu __asm__("x2") = note.cpu;
    register void *arg __asm__("x3") = note.arg;
    register uintptr_t post __asm__("x4") = note.post;
    __asm__ volatile("stp x29, x19, [sp, #-16]!\n\t"
                     "adr x16, 1f\n\t"
                     "mov x17, sp\n\t"
                     "stp x17, x16, [x0]\n\t"
                     "ldp x17, x16, [x1]\n\t"
                     "mov sp, x17\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "br x16\n"
                     "1:\n\t"
                     "hint #36\n\t"
                     "ldp x29, x19, [sp], #16\n\t"
                     : "+r"(f), "+r"(t), "+r"(cpu), "+r"(arg), "+r"(post)
                     :
                     : "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                       "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
                       "cc", "memory");
    return (struct port_note){f, cpu, arg, post};
}

ALWAYS_INLINE void port_cpu_relax(void)
{
    __asm__ volatile("isb" ::: "memory");
}

#define PORT_ARCH_TLS_LOAD(out, var)                                                               \
    do {                                                                                           \
        uintptr_t offset_;                                                                         \
        __asm__ volatile("mrs %0, tpidr_el0\n\t"                                                   \
                         "adrp %1, :gottprel:" #var "\n\t"                                         \
                         "ldr %1, [%1, :gottprel_lo12:" #var "]\n\t"                               \
                         "ldr %0, [%0, %1]"                                                        \
                         : "=&r"(out), "=&r"(offset_));                                            \
    } while (0)

#define PORT_ARCH_TLS_OFFSET(out, var)                                                             \
    __asm__("adrp %0, :gottprel:" #var "\n\tldr %0, [%0, :gottprel_lo12:" #var "]" : "=r"(out))

/* The thread pointer. TLS blocks lie above it (variant 1 of the TLS document). A register like any
 * other. */
#define PORT_ARCH_TLS_VARIANT 1
#define PORT_ARCH_TLS_HWCAP2 0u

ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    uintptr_t tp;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    (void)by_instruction;
    __asm__ volatile("msr tpidr_el0, %0" : : "r"(tp) : "memory");
}

/* Rounding, exception enables, exception flags. */
struct port_fp {
    uint64_t control, status;
};

ALWAYS_INLINE void port_arch_fp_save(struct port_fp *fp)
{
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fp->control), "=r"(fp->status));
}

ALWAYS_INLINE void port_arch_fp_load(const struct port_fp *fp, const struct port_fp *now)
{
    if (unlikely(fp->control != now->control)) {
        __asm__ volatile("msr fpcr, %0" : : "r"(fp->control));
    }
    if (unlikely(fp->status != now->status)) {
        __asm__ volatile("msr fpsr, %0" : : "r"(fp->status));
    }
}

/* Where a signal interrupted (ucontext_t); and go on elsewhere. */
#define PORT_ARCH_SIGNAL_PC(context) ((uintptr_t)(context)->uc_mcontext.pc)
#define PORT_ARCH_SIGNAL_GO(context, to) ((context)->uc_mcontext.pc = (to))
#define PORT_ARCH_SIGNAL_SP(context) ((uintptr_t)(context)->uc_mcontext.sp)
#define PORT_ARCH_SIGNAL_FP(context) ((uintptr_t)(context)->uc_mcontext.regs[29])
#define PORT_ARCH_SIGNAL_LINK(context) ((uintptr_t)(context)->uc_mcontext.regs[30])
#define PORT_ARCH_FRAME_NEXT 0
#define PORT_ARCH_FRAME_RETURN 1
#define PORT_ARCH_NAME "aarch64"

/* A system call; the kernel's result. */
ALWAYS_INLINE long port_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r_x0 __asm__("x0") = a;
    register long r_x1 __asm__("x1") = b;
    register long r_x2 __asm__("x2") = c;
    register long r_x3 __asm__("x3") = d;
    register long r_x4 __asm__("x4") = e;
    register long r_x5 __asm__("x5") = f;
    register long r_x8 __asm__("x8") = number;
    __asm__ volatile("svc #0"
                     : "+r"(r_x0)
                     : "r"(r_x8), "r"(r_x1), "r"(r_x2), "r"(r_x3), "r"(r_x4), "r"(r_x5)
                     : "memory");
    return r_x0;
}

/* See the x86-64 port: port_stop_call. */
#define PORT_ARCH_STOP_CALL                                                                        \
    __asm__(".pushsection .text\n\t"                                                               \
            ".globl port_stop_call, port_stop_begin, port_stop_end, port_stop_out\n\t"             \
            ".hidden port_stop_call, port_stop_begin, port_stop_end, port_stop_out\n\t"            \
            ".type port_stop_call, @function\n\t"                                                  \
            ".p2align 4\n"                                                                         \
            "port_stop_call:\n\t"                                                                  \
            ".cfi_startproc\n\t"                                                                   \
            "mov x9, x0\n\t"                                                                       \
            "mov w11, w1\n\t"                                                                      \
            "mov x10, x2\n\t"                                                                      \
            "ldr x8, [x10, #0]\n\t"                                                                \
            "ldp x0, x1, [x10, #8]\n\t"                                                            \
            "ldp x2, x3, [x10, #24]\n\t"                                                           \
            "ldp x4, x5, [x10, #40]\n"                                                             \
            "port_stop_begin:\n\t"                                                                 \
            "ldr w9, [x9]\n\t"                                                                     \
            "tst w9, w11\n\t"                                                                      \
            "b.ne port_stop_out\n\t"                                                               \
            "svc #0\n"                                                                             \
            "port_stop_end:\n\t"                                                                   \
            "ret\n"                                                                                \
            "port_stop_out:\n\t"                                                                   \
            "mov x0, #-4096\n\t"                                                                   \
            "ret\n\t"                                                                              \
            ".cfi_endproc\n\t"                                                                     \
            ".size port_stop_call, .-port_stop_call\n\t"                                           \
            ".popsection")

#endif
