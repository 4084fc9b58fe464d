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
#include "port_asm.h"

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

/* On a 32-bit initial-exec TLS variable of the calling thread's block. A store that a handler
 * has made in between is seen, because the handler's return makes the exclusive store fail.
 * PORT_ARCH_TLS_DEC: is it 0 now? */
#define PORT_ARCH_TLS_SET(var, value)                                                              \
    do {                                                                                           \
        uintptr_t at_, offset_;                                                                    \
        __asm__ volatile("mrs %0, tpidr_el0\n\t"                                                   \
                         "adrp %1, :gottprel:" #var "\n\t"                                         \
                         "ldr %1, [%1, :gottprel_lo12:" #var "]\n\t"                               \
                         "str %w2, [%0, %1]"                                                       \
                         : "=&r"(at_), "=&r"(offset_)                                              \
                         : "rZ"((uint32_t)(value))                                                 \
                         : "memory");                                                              \
    } while (0)
#define PORT_ARCH_TLS_ADD(out, var, add)                                                           \
    do {                                                                                           \
        uintptr_t at_, offset_;                                                                    \
        uint32_t failed_;                                                                          \
        __asm__ volatile("mrs %1, tpidr_el0\n\t"                                                   \
                         "adrp %2, :gottprel:" #var "\n\t"                                         \
                         "ldr %2, [%2, :gottprel_lo12:" #var "]\n\t"                               \
                         "add %1, %1, %2\n"                                                        \
                         "0:\n\t"                                                                  \
                         "ldxr %w0, [%1]\n\t" add " %w0, %w0, #1\n\t"                              \
                         "stxr %w3, %w0, [%1]\n\t"                                                 \
                         "cbnz %w3, 0b"                                                            \
                         : "=&r"(out), "=&r"(at_), "=&r"(offset_), "=&r"(failed_)                  \
                         :                                                                         \
                         : "memory");                                                              \
    } while (0)
#define PORT_ARCH_TLS_INC(var)                                                                     \
    do {                                                                                           \
        uint32_t now_;                                                                             \
        PORT_ARCH_TLS_ADD(now_, var, "add");                                                       \
        (void)now_;                                                                                \
    } while (0)
#define PORT_ARCH_TLS_DEC(zero, var)                                                               \
    do {                                                                                           \
        uint32_t now_;                                                                             \
        PORT_ARCH_TLS_ADD(now_, var, "sub");                                                       \
        (zero) = now_ == 0;                                                                        \
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

/* The virtual counter, for traces. Without the barrier it might be read early: before what another
 * processor has done, and this one has seen already. */
ALWAYS_INLINE uint64_t port_arch_counter(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
    return now;
}
#define PORT_ARCH_COUNTER() port_arch_counter()

/* The state of a thread that does not run: the registers as in the function that called
 * port_ctx_switch. */
struct port_arch_frame {
    const void *sp, *pc, *bp;
};

ALWAYS_INLINE struct port_arch_frame port_arch_frame_of(const struct port_ctx *ctx)
{
    const char *sp = (const char *)ctx->sp;
    return (struct port_arch_frame){sp + 16, ctx->pc, *(void *const *)ctx->sp};
}

/* Registers as DWARF numbers them (DWARF for the Arm 64-bit Architecture): how many there are,
 * three by their names, those that a function leaves as they were (x19 to x29), and those that
 * port_arch_frame_of knows. */
#define PORT_ARCH_CFI_REGISTERS 33
#define PORT_ARCH_CFI_FP 29
#define PORT_ARCH_CFI_SP 31
#define PORT_ARCH_CFI_PC 32
#define PORT_ARCH_CFI_KEPT (UINT64_C(0x7ff) << 19)
#define PORT_ARCH_CFI_SAVED (UINT64_C(1) << 29 | UINT64_C(1) << 31 | UINT64_C(1) << 32)
/* x30: a call leaves the address to return to there. */
#define PORT_ARCH_CFI_RESULT 30
#define PORT_ARCH_CFI_LINK (UINT64_C(1) << PORT_ARCH_CFI_RESULT)

/* An address of code without its signature (pointer authentication). `hint #7` is xpaclri, which
 * does nothing where there are none. */
ALWAYS_INLINE uintptr_t port_arch_code(uintptr_t address)
{
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}
#define PORT_ARCH_CFI_CODE(address) port_arch_code(address)

/* Is the instruction before p, of which n bytes may be read, a call: bl, or blr, with or without
 * authentication? */
ALWAYS_INLINE bool port_arch_behind_call(const uint8_t *p, uintptr_t n)
{
    uint32_t code = 0;
    if (n >= sizeof(code) && (uintptr_t)p % sizeof(code) == 0) {
        code = ((const uint32_t *)(const void *)p)[-1];
    }
    return (code & 0xfc000000u) == 0x94000000u || (code & 0xfefff000u) == 0xd63f0000u;
}
#define PORT_ARCH_BEHIND_CALL(p, n) port_arch_behind_call(p, n)

/* The registers of the caller that matter. */
#define PORT_ARCH_CFI_HERE(regs)                                                                   \
    do {                                                                                           \
        (regs)->known = PORT_ARCH_CFI_KEPT | PORT_ARCH_CFI_SAVED | PORT_ARCH_CFI_LINK;             \
        __asm__ volatile("stp x19, x20, [%0, #152]\n\t"                                            \
                         "stp x21, x22, [%0, #168]\n\t"                                            \
                         "stp x23, x24, [%0, #184]\n\t"                                            \
                         "stp x25, x26, [%0, #200]\n\t"                                            \
                         "stp x27, x28, [%0, #216]\n\t"                                            \
                         "stp x29, x30, [%0, #232]\n\t"                                            \
                         "mov x16, sp\n"                                                           \
                         "0:\n\t"                                                                  \
                         "adr x17, 0b\n\t"                                                         \
                         "stp x16, x17, [%0, #248]"                                                \
                         :                                                                         \
                         : "r"((regs)->value)                                                      \
                         : "x16", "x17", "memory");                                                \
    } while (0)
/* All of them, of what a signal has interrupted (ucontext_t). */
#define PORT_ARCH_CFI_OF_SIGNAL(to, context)                                                       \
    do {                                                                                           \
        for (unsigned i_ = 0; i_ < 31; i_++) {                                                     \
            (to)->value[i_] = (uintptr_t)(context)->uc_mcontext.regs[i_];                          \
        }                                                                                          \
        (to)->value[PORT_ARCH_CFI_SP] = PORT_ARCH_SIGNAL_SP(context);                              \
        (to)->value[PORT_ARCH_CFI_PC] = PORT_ARCH_SIGNAL_PC(context);                              \
        (to)->known = (UINT64_C(1) << PORT_ARCH_CFI_REGISTERS) - 1;                                \
    } while (0)

/* When a handler has returned, siginfo_t and ucontext_t are at the stack pointer. It returns to
 * these two instructions in memory of the kernel: mov x8, #SYS_rt_sigreturn; svc #0. */
#define PORT_ARCH_CFI_CONTEXT 128u
#define PORT_ARCH_CFI_SIGNAL_RETURN(pc)                                                            \
    ((pc) % 4 == 0 && ((const uint32_t *)(pc))[0] == 0xd2801168u &&                                \
     ((const uint32_t *)(pc))[1] == 0xd4000001u)

/* Is the next instruction a system call (svc #0), made for the first time or again: the kernel goes
 * back to it. Unlike on x86-64 nothing tells the two apart: it counts as interrupted. */
ALWAYS_INLINE bool port_arch_is_call(const unsigned char *pc)
{
    return *(const uint32_t *)(const void *)pc == 0xd4000001u;
}

/* ... or has one ended just now? On the page that is known to be there. */
ALWAYS_INLINE bool port_arch_in_syscall(uintptr_t pc)
{
    return port_arch_is_call((const unsigned char *)pc) ||
           ((pc & 4095u) != 0 && port_arch_is_call((const unsigned char *)pc - 4));
}

/* The number of the system call there: the register keeps it. */
#define PORT_ARCH_SIGNAL_NUMBER(context) ((long)(context)->uc_mcontext.regs[8])
#define PORT_ARCH_SIGNAL_CALL(context) PORT_ARCH_SIGNAL_NUMBER(context)
#define PORT_ARCH_SIGNAL_REPEATS(context)                                                          \
    port_arch_is_call((const unsigned char *)PORT_ARCH_SIGNAL_PC(context))
#define PORT_ARCH_SIGNAL_FAIL(context, error)                                                      \
    ((context)->uc_mcontext.pc += 4,                                                               \
     (context)->uc_mcontext.regs[0] = (unsigned long long)-(long long)(error))

/* The way back from a signal handler, in the instructions by which unwinders know it. */
#define PORT_ARCH_SIGNAL_RETURN                                                                    \
    __asm__(".pushsection .text\n\t"                                                               \
            ".p2align 4\n\t"                                                                       \
            "nop\n"                                                                                \
            ".globl port_signal_return\n\t"                                                        \
            ".hidden port_signal_return\n\t"                                                       \
            ".type port_signal_return, @function\n"                                                \
            "port_signal_return:\n\t"                                                              \
            "mov x8, #139\n\t"                                                                     \
            "svc #0\n\t"                                                                           \
            ".size port_signal_return, .-port_signal_return\n\t"                                   \
            ".popsection")
#define PORT_ARCH_SA_RESTORER 0x04000000u

/*
 * The frame of a signal handler (arch/arm64/kernel/signal.c): siginfo_t, ucontext_t with records of
 * further registers, perhaps more of them behind it, and the pair of x29 and x30 that a debugger
 * follows. Moved to below `top`, and handler(signal, info, context) called there as the kernel
 * would have. Never returns.
 */
#define PORT_ARCH_FRAME_MOVE(context, info, top, signal, handler)                                  \
    do {                                                                                           \
        char *from_ = (char *)(info);                                                              \
        char *record_ = (char *)(context)->uc_mcontext.__reserved;                                 \
        char *end_ = record_ + sizeof((context)->uc_mcontext.__reserved);                          \
        char *more_ = NULL;                                                                        \
        for (uint32_t head_[2];; record_ += head_[1]) {                                            \
            memcpy(head_, record_, sizeof(head_));                                                 \
            if (head_[0] == 0 || head_[1] < sizeof(head_)) {                                       \
                break;                                                                             \
            }                                                                                      \
            if (head_[0] == 0x45585401u) { /* EXTRA_MAGIC: address and size of more */             \
                uint32_t size_;                                                                    \
                memcpy(&size_, record_ + 16, sizeof(size_));                                       \
                memcpy(&end_, record_ + 8, sizeof(end_));                                          \
                end_ += size_;                                                                     \
                more_ = record_ + 8;                                                               \
            }                                                                                      \
        }                                                                                          \
        end_ = (char *)(((uintptr_t)end_ + 15) & ~(uintptr_t)15) + 16;                             \
        ptrdiff_t by_ = (char *)((uintptr_t)(top) & ~(uintptr_t)15) - end_;                        \
        if (more_ != NULL) {                                                                       \
            char *data_;                                                                           \
            memcpy(&data_, more_, sizeof(data_));                                                  \
            data_ += by_;                                                                          \
            memcpy(more_, &data_, sizeof(data_));                                                  \
        }                                                                                          \
        memcpy(from_ + by_, from_, (size_t)(end_ - from_));                                        \
        register long signal_ __asm__("x0") = (signal);                                            \
        register char *info_ __asm__("x1") = from_ + by_;                                          \
        register char *context_ __asm__("x2") = (char *)(context) + by_;                           \
        register void *to_ __asm__("x16") = (void *)(handler);                                     \
        register char *pair_ __asm__("x17") = end_ + by_ - 16;                                     \
        __asm__ volatile("mov sp, x1\n\t"                                                          \
                         "mov x29, x17\n\t"                                                        \
                         "adr x30, port_signal_return\n\t"                                         \
                         "br x16"                                                                  \
                         :                                                                         \
                         : "r"(signal_), "r"(info_), "r"(context_), "r"(to_), "r"(pair_)           \
                         : "memory");                                                              \
        __builtin_unreachable();                                                                   \
    } while (0)

/* See the x86-64 port. */
#define PORT_ARCH_ACCEPT_CALL                                                                      \
    PORT_ASM_FUNCTION(port_accept_call,                                                            \
                      PORT_ASM_HIDDEN("port_accept_call, port_accept_begin, port_accept_end"),     \
                      "mov x8, #131\n"                                                             \
                      "port_accept_begin:\n\t"                                                     \
                      "svc #0\n"                                                                   \
                      "port_accept_end:\n\t"                                                       \
                      "ret")

#define PORT_ARCH_SIGSETJMP                                                                        \
    PORT_ASM_FUNCTION(__sigsetjmp, "",                                                             \
                      "cbnz w1, 1f\n\t"                                                            \
                      "adrp x16, posix_next_sigsetjmp\n\t"                                         \
                      "ldr x16, [x16, :lo12:posix_next_sigsetjmp]\n\t"                             \
                      "cbnz x16, 2f\n"                                                             \
                      "1:\n\t"                                                                     \
                      "stp x29, x30, [sp, #-32]!\n\t"                                              \
                      ".cfi_def_cfa_offset 32\n\t"                                                 \
                      ".cfi_offset 29, -32\n\t"                                                    \
                      ".cfi_offset 30, -24\n\t"                                                    \
                      "stp x0, x1, [sp, #16]\n\t"                                                  \
                      "mov x29, sp\n\t"                                                            \
                      "bl posix_sigsetjmp\n\t"                                                     \
                      "ldp x0, x1, [sp, #16]\n\t"                                                  \
                      "ldp x29, x30, [sp], #32\n\t"                                                \
                      ".cfi_restore 30\n\t"                                                        \
                      ".cfi_restore 29\n\t"                                                        \
                      ".cfi_def_cfa_offset 0\n\t"                                                  \
                      "adrp x16, posix_next_sigsetjmp\n\t"                                         \
                      "ldr x16, [x16, :lo12:posix_next_sigsetjmp]\n"                               \
                      "2:\n\t"                                                                     \
                      "br x16")

#define PORT_ARCH_CALL_ON                                                                          \
    PORT_ASM_FUNCTION(port_call_on, PORT_ASM_HIDDEN("port_call_on"),                               \
                      "stp x29, x30, [sp, #-16]!\n\t"                                              \
                      ".cfi_def_cfa_offset 16\n\t"                                                 \
                      ".cfi_offset 29, -16\n\t"                                                    \
                      ".cfi_offset 30, -8\n\t"                                                     \
                      "mov x29, sp\n\t"                                                            \
                      ".cfi_def_cfa_register 29\n\t"                                               \
                      "and x4, x4, #0xfffffffffffffff0\n\t"                                        \
                      "mov sp, x4\n\t"                                                             \
                      "blr x3\n\t"                                                                 \
                      "mov sp, x29\n\t"                                                            \
                      ".cfi_def_cfa_register 31\n\t"                                               \
                      "ldp x29, x30, [sp], #16\n\t"                                                \
                      ".cfi_restore 30\n\t"                                                        \
                      ".cfi_restore 29\n\t"                                                        \
                      ".cfi_def_cfa_offset 0\n\t"                                                  \
                      "ret")

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
    PORT_ASM_FUNCTION(                                                                             \
        port_stop_call,                                                                            \
        PORT_ASM_HIDDEN("port_stop_call, port_stop_begin, port_stop_end, port_stop_out"),          \
        "mov x9, x0\n\t"                                                                           \
        "mov w11, w1\n\t"                                                                          \
        "mov x10, x2\n\t"                                                                          \
        "ldr x8, [x10, #0]\n\t"                                                                    \
        "ldp x0, x1, [x10, #8]\n\t"                                                                \
        "ldp x2, x3, [x10, #24]\n\t"                                                               \
        "ldp x4, x5, [x10, #40]\n"                                                                 \
        "port_stop_begin:\n\t"                                                                     \
        "ldr w9, [x9]\n\t"                                                                         \
        "tst w9, w11\n\t"                                                                          \
        "b.ne port_stop_out\n\t"                                                                   \
        "svc #0\n"                                                                                 \
        "port_stop_end:\n\t"                                                                       \
        "ret\n"                                                                                    \
        "port_stop_out:\n\t"                                                                       \
        "mov x0, #-4096\n\t"                                                                       \
        "ret")

#endif
