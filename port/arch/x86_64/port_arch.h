/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (x86-64) - the context switch.
 *
 * The switch is inlined: the compiler saves what is live, because the asm statement clobbers every
 * register, and the context is a stack pointer and an address. It ends in an indirect jump and not
 * in `ret`: the return-stack predictor never matches across a switch (a mispredicted `ret` costs
 * more than the whole switch). rbp cannot be named as a clobber and is saved by hand. MXCSR and the
 * x87 control word are not saved: the System V ABI makes them callee-saved, but a thread rarely
 * changes them, and saving costs more than the rest. Threads that keep their own have struct
 * port_fp.
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
    /* As directly after a call: 8 below a 16-byte boundary, with the return address (none:
     * unwinders stop here). */
    void **sp = (void **)(top - 8);
    sp[0] = NULL;
    ctx->sp = sp;
    ctx->pc = (void *)entry;
}

ALWAYS_INLINE struct port_note port_ctx_switch(struct port_ctx *from, struct port_ctx *to,
                                               struct port_note note)
{
    void *cpu = note.cpu, *arg = note.arg;
    register uintptr_t post __asm__("r8") = note.post;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* step over the red zone */
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rsp, (%%rdi)\n\t"
                     "movq %%rax, 8(%%rdi)\n\t"
                     "movq (%%rsi), %%rsp\n\t"
                     "jmpq *8(%%rsi)\n"
                     "1:\n\t"
                     "popq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     : "+D"(from), "+S"(to), "+d"(cpu), "+c"(arg), "+r"(post)
                     :
                     : "rax", "rbx", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
    return (struct port_note){from, cpu, arg, post};
}

/*
 * Define the global function `name`, which calls `impl` (same arguments, returns bool) and, if that
 * is true, returns by a jump. It returns 0 (or nothing). For functions that switch: the
 * return-stack predictor holds the call sites of the thread that ran before, and a `ret` to another
 * call site would be mispredicted; an indirect jump has its own history.
 */
#define PORT_ARCH_RETURN_BY_JUMP(name, impl) PORT_ARCH_RETURN_BY_JUMP_(name, #impl)
/* The same where a pointer says what is called. */
#define PORT_ARCH_RETURN_BY_JUMP_VIA(name, pointer)                                                \
    PORT_ARCH_RETURN_BY_JUMP_(name, "*" #pointer "(%rip)")
#define PORT_ARCH_RETURN_BY_JUMP_(name, callee)                                                    \
    __asm__(".pushsection .text\n\t"                                                               \
            ".globl " #name "\n\t"                                                                 \
            ".type " #name ", @function\n\t"                                                       \
            ".p2align 4\n" #name ":\n\t"                                                           \
            ".cfi_startproc\n\t"                                                                   \
            "subq $8, %rsp\n\t"                                                                    \
            ".cfi_adjust_cfa_offset 8\n\t"                                                         \
            "call " callee "\n\t"                                                                  \
            "addq $8, %rsp\n\t"                                                                    \
            ".cfi_adjust_cfa_offset -8\n\t"                                                        \
            "testb %al, %al\n\t"                                                                   \
            "movl $0, %eax\n\t"                                                                    \
            "je 1f\n\t"                                                                            \
            "popq %rcx\n\t"                                                                        \
            ".cfi_adjust_cfa_offset -8\n\t"                                                        \
            ".cfi_register 16, 2\n\t"                                                              \
            "jmpq *%rcx\n"                                                                         \
            "1:\n\t"                                                                               \
            ".cfi_def_cfa_offset 8\n\t"                                                            \
            ".cfi_offset 16, -8\n\t"                                                               \
            "ret\n\t"                                                                              \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", .-" #name "\n\t"                                                     \
            ".popsection")

ALWAYS_INLINE void port_cpu_relax(void)
{
    __builtin_ia32_pause();
}

/* A request to Valgrind, which knows this sequence of instructions; a real machine does nothing and
 * returns 0. */
#define PORT_ARCH_VALGRIND(request, a, b)                                                          \
    __extension__({                                                                                \
        volatile unsigned long words_[6] = {(request), (unsigned long)(a), (unsigned long)(b)};    \
        unsigned long result_ = 0;                                                                 \
        __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"                                   \
                         "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"                                  \
                         "xchgq %%rbx, %%rbx"                                                      \
                         : "+d"(result_)                                                           \
                         : "a"(&words_[0])                                                         \
                         : "cc", "memory");                                                        \
        result_;                                                                                   \
    })

/* The state of a thread that does not run, for an unwinder: the registers as in the function that
 * called port_ctx_switch. */
struct port_arch_frame {
    const void *sp, *pc, *bp;
};

ALWAYS_INLINE struct port_arch_frame port_arch_frame_of(const struct port_ctx *ctx)
{
    const char *sp = ctx->sp;
    return (struct port_arch_frame){sp + 136, ctx->pc, *(void *const *)sp};
}

/* Define `void name(const struct port_arch_frame *frame, void (*fn)(void *), void *arg)`: calls
 * fn(arg), whose unwinder finds as the caller's caller what `frame` says. CFA, return address and
 * rbp by expressions of DWARF over rbx, which holds `frame`. */
#define PORT_ARCH_CALL_UNDER(name)                                                                 \
    __asm__(".pushsection .text\n\t"                                                               \
            ".hidden " #name "\n\t"                                                                \
            ".globl " #name "\n\t"                                                                 \
            ".type " #name ", @function\n" #name ":\n\t"                                           \
            ".cfi_startproc\n\t"                                                                   \
            "pushq %rbx\n\t"                                                                       \
            ".cfi_adjust_cfa_offset 8\n\t"                                                         \
            ".cfi_offset 3, -16\n\t"                                                               \
            "movq %rdi, %rbx\n\t"                                                                  \
            "movq %rdx, %rdi\n\t"                                                                  \
            ".cfi_remember_state\n\t"                                                              \
            ".cfi_escape 0x0f, 3, 0x73, 0, 0x06\n\t"                                               \
            ".cfi_escape 0x10, 16, 2, 0x73, 8\n\t"                                                 \
            ".cfi_escape 0x10, 6, 2, 0x73, 16\n\t"                                                 \
            "call *%rsi\n\t"                                                                       \
            ".cfi_restore_state\n\t"                                                               \
            "popq %rbx\n\t"                                                                        \
            ".cfi_adjust_cfa_offset -8\n\t"                                                        \
            "ret\n\t"                                                                              \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", .-" #name "\n\t"                                                     \
            ".popsection")

/* On a 32-bit initial-exec TLS variable of the thread pointer's block, by one instruction each, so
 * that a signal handler comes before or after, and a migration too. PORT_ARCH_TLS_DEC: is it 0 now?
 */
#define PORT_ARCH_TLS_SET(var, value)                                                              \
    do {                                                                                           \
        uintptr_t slot_;                                                                           \
        __asm__ volatile("movq " #var "@gottpoff(%%rip), %0\n\tmovl %1, %%fs:(%0)"                 \
                         : "=&r"(slot_)                                                            \
                         : "i"(value)                                                              \
                         : "memory");                                                              \
    } while (0)
#define PORT_ARCH_TLS_INC(var)                                                                     \
    do {                                                                                           \
        uintptr_t slot_;                                                                           \
        __asm__ volatile("movq " #var "@gottpoff(%%rip), %0\n\tincl %%fs:(%0)"                     \
                         : "=&r"(slot_)                                                            \
                         :                                                                         \
                         : "memory", "cc");                                                        \
    } while (0)
#define PORT_ARCH_TLS_DEC(zero, var)                                                               \
    do {                                                                                           \
        uintptr_t slot_;                                                                           \
        __asm__ volatile("movq " #var "@gottpoff(%%rip), %1\n\tdecl %%fs:(%1)"                     \
                         : "=@ccz"(zero), "=&r"(slot_)                                             \
                         :                                                                         \
                         : "memory");                                                              \
    } while (0)

/* Where a signal interrupted (ucontext_t); and go on elsewhere. */
#define PORT_ARCH_SIGNAL_PC(context) ((uintptr_t)(context)->uc_mcontext.gregs[REG_RIP])
#define PORT_ARCH_SIGNAL_GO(context, to) ((context)->uc_mcontext.gregs[REG_RIP] = (long long)(to))

/* A system call; the kernel's result. */
ALWAYS_INLINE long port_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/*
 * Define long port_stop_call(const _Atomic uint32_t *word, uint32_t bits, const long *args): unless
 * any of the bits of the word is set, make the system call args[0] with six arguments; the kernel's
 * result, or PORT_CALL_STOPPED. A signal handler that finds the interrupted instruction between
 * port_stop_begin and port_stop_end, where the call has not been made or will be repeated, may
 * continue at port_stop_out instead; or, with PORT_ARCH_SIGNAL_REPEATS, let the call fail
 * (PORT_ARCH_SIGNAL_FAIL). If the call has not been made, rcx has `bits`, which are never an
 * address.
 */
#define PORT_ARCH_STOP_CALL                                                                        \
    PORT_ASM_FUNCTION(                                                                             \
        port_stop_call,                                                                            \
        PORT_ASM_HIDDEN("port_stop_call, port_stop_begin, port_stop_end, port_stop_out"),          \
        "movq %rdi, %r11\n\t"                                                                      \
        "movl %esi, %ecx\n\t"                                                                      \
        "movq %rdx, %rax\n\t"                                                                      \
        "movq 8(%rax), %rdi\n\t"                                                                   \
        "movq 16(%rax), %rsi\n\t"                                                                  \
        "movq 24(%rax), %rdx\n\t"                                                                  \
        "movq 32(%rax), %r10\n\t"                                                                  \
        "movq 40(%rax), %r8\n\t"                                                                   \
        "movq 48(%rax), %r9\n\t"                                                                   \
        "movq 0(%rax), %rax\n"                                                                     \
        "port_stop_begin:\n\t"                                                                     \
        "testl %ecx, (%r11)\n\t"                                                                   \
        "jnz port_stop_out\n\t"                                                                    \
        "syscall\n"                                                                                \
        "port_stop_end:\n\t"                                                                       \
        "ret\n"                                                                                    \
        "port_stop_out:\n\t"                                                                       \
        "movq $-4096, %rax\n\t"                                                                    \
        "ret")

/* The way back from a signal handler, in the bytes by which unwinders know it. */
#define PORT_ARCH_SIGNAL_RETURN                                                                    \
    __asm__(".pushsection .text\n\t"                                                               \
            ".p2align 4\n\t"                                                                       \
            "nop\n"                                                                                \
            ".globl port_signal_return\n\t"                                                        \
            ".hidden port_signal_return\n\t"                                                       \
            ".type port_signal_return, @function\n"                                                \
            "port_signal_return:\n\t"                                                              \
            "movq $15, %rax\n\t"                                                                   \
            "syscall\n\t"                                                                          \
            ".size port_signal_return, .-port_signal_return\n\t"                                   \
            ".popsection")
#define PORT_ARCH_SA_RESTORER 0x04000000u
/* Is it a system call: one that goes on when the handler returns (the instruction is executed
 * again), or one that has ended just now (by the signal, most likely)? Both bytes of the
 * instruction must lie on the page that is known to be there. */
ALWAYS_INLINE bool port_arch_in_syscall(uintptr_t pc)
{
    const unsigned char *p = (const unsigned char *)pc;
    return ((pc & 4095u) <= 4094u && p[0] == 0x0f && p[1] == 0x05) ||
           ((pc & 4095u) >= 2u && p[-2] == 0x0f && p[-1] == 0x05);
}

/* The number of the system call there, if the instruction before it loads a constant, as in the C
 * library's functions that only make a call; -1: it does not. */
ALWAYS_INLINE long port_arch_call_number(uintptr_t pc)
{
    const unsigned char *call = (const unsigned char *)pc;
    if ((pc & 4095u) >= 2u && call[-2] == 0x0f && call[-1] == 0x05) {
        call -= 2;
    }
    if (((uintptr_t)call & 4095u) < 5u || call[-5] != 0xb8) {
        return -1;
    }
    return (long)call[-4] | (long)call[-3] << 8 | (long)call[-2] << 16 | (long)call[-1] << 24;
}

#define PORT_ARCH_SIGNAL_NUMBER(context) port_arch_call_number(PORT_ARCH_SIGNAL_PC(context))

#define PORT_ARCH_SIGNAL_SP(context) ((uintptr_t)(context)->uc_mcontext.gregs[REG_RSP])
#define PORT_ARCH_SIGNAL_FP(context) ((uintptr_t)(context)->uc_mcontext.gregs[REG_RBP])
#define PORT_ARCH_SIGNAL_LINK(context) ((uintptr_t)0)
/* Offsets in words from the address in the frame pointer: of the caller's frame pointer, and of the
 * return address. */
#define PORT_ARCH_FRAME_NEXT 0
#define PORT_ARCH_FRAME_RETURN 1
#define PORT_ARCH_NAME "x86_64"

/* The processor's counter, for traces. */
#define PORT_ARCH_COUNTER() ((uint64_t)__builtin_ia32_rdtsc())

/* Registers as DWARF numbers them: how many there are, three by their names (PC: the return
 * address), and those that a function leaves as they were. */
#define PORT_ARCH_CFI_REGISTERS 17
#define PORT_ARCH_CFI_FP 6
#define PORT_ARCH_CFI_SP 7
#define PORT_ARCH_CFI_PC 16
#define PORT_ARCH_CFI_KEPT (1u << 3 | 1u << 6 | 0xfu << 12)
/* Those that port_arch_frame_of knows. */
#define PORT_ARCH_CFI_SAVED (1u << 6 | 1u << 7 | 1u << 16)
/* Calls leave the address to return to on the stack, in no register, and nothing else in it. The
 * kernel leaves a handler's ucontext_t where the handler's return address was; the C library's code
 * behind handlers has tables. */
#define PORT_ARCH_CFI_RESULT 16
#define PORT_ARCH_CFI_LINK UINT64_C(0)
#define PORT_ARCH_CFI_CODE(address) (address)
#define PORT_ARCH_CFI_CONTEXT 0u
#define PORT_ARCH_CFI_SIGNAL_RETURN(pc) ((void)(pc), false)
/* Is the instruction before p, of which n bytes may be read, a call: E8, or FF /2 with what it may
 * have as its operand? */
#define PORT_ARCH_BEHIND_CALL(p, n)                                                                \
    (((n) >= 5 && (p)[-5] == 0xe8) || ((n) >= 2 && (p)[-2] == 0xff && ((p)[-1] & 0x38) == 0x10) || \
     ((n) >= 3 && (p)[-3] == 0xff && ((p)[-2] & 0x38) == 0x10) ||                                  \
     ((n) >= 4 && (p)[-4] == 0xff && ((p)[-3] & 0x38) == 0x10) ||                                  \
     ((n) >= 6 && (p)[-6] == 0xff && ((p)[-5] & 0x38) == 0x10) ||                                  \
     ((n) >= 7 && (p)[-7] == 0xff && ((p)[-6] & 0x38) == 0x10))
/* The registers of the caller that matter. */
#define PORT_ARCH_CFI_HERE(regs)                                                                   \
    do {                                                                                           \
        (regs)->known = PORT_ARCH_CFI_KEPT | PORT_ARCH_CFI_SAVED;                                  \
        __asm__ volatile("leaq 0f(%%rip), %%rax\n0:\n\t"                                           \
                         "movq %%rax, 128(%0)\n\tmovq %%rbx, 24(%0)\n\t"                           \
                         "movq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"                            \
                         "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\t"                           \
                         "movq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)"                              \
                         :                                                                         \
                         : "r"((regs)->value)                                                      \
                         : "rax", "memory");                                                       \
    } while (0)
/* All of them, of what a signal has interrupted (ucontext_t). */
#define PORT_ARCH_CFI_OF_SIGNAL(regs, context)                                                     \
    do {                                                                                           \
        static const uint8_t places_[PORT_ARCH_CFI_REGISTERS] = {                                  \
            REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,        \
            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};               \
        for (unsigned i_ = 0; i_ < PORT_ARCH_CFI_REGISTERS; i_++) {                                \
            (regs)->value[i_] = (uintptr_t)(context)->uc_mcontext.gregs[places_[i_]];              \
        }                                                                                          \
        (regs)->known = (1u << PORT_ARCH_CFI_REGISTERS) - 1;                                       \
    } while (0)

/* The instruction that is about to be executed (again): is it a system call; its number; let it
 * fail without making it. */
#define PORT_ARCH_SIGNAL_CALL(context) ((long)(context)->uc_mcontext.gregs[REG_RAX])
#define PORT_ARCH_SIGNAL_FAIL(context, error)                                                      \
    ((context)->uc_mcontext.gregs[REG_RIP] += 2,                                                   \
     (context)->uc_mcontext.gregs[REG_RAX] = -(long long)(error))

/* Has it been made already, and is about to be repeated? The instruction leaves its successor's
 * address in rcx, where nobody else has any use for it. */
#define PORT_ARCH_SIGNAL_REPEATS(context)                                                          \
    ((context)->uc_mcontext.gregs[REG_RCX] == (context)->uc_mcontext.gregs[REG_RIP] + 2)

ALWAYS_INLINE bool port_arch_is_call(const unsigned char *pc)
{
    return ((uintptr_t)pc & 4095u) <= 4094u && pc[0] == 0x0f && pc[1] == 0x05;
}

/* The floating-point state of a frame: 512 bytes, or as many as the kernel says. */
ALWAYS_INLINE size_t port_arch_fp_bytes(const char *fp)
{
    uint32_t extended[2];
    __builtin_memcpy(extended, fp + 464, sizeof(extended));
    return extended[0] == 0x46505853u ? extended[1] : 512u;
}

/* Most bytes of a stack that the frame takes if PORT_ARCH_FRAME_MOVE moves it there. */
#define PORT_ARCH_FRAME_BYTES(context)                                                             \
    ((size_t)((const char *)(context)->uc_mcontext.fpregs - (const char *)(context)) +             \
     port_arch_fp_bytes((const char *)(context)->uc_mcontext.fpregs) + sizeof(void *) + 128u)

/*
 * The frame of a signal handler, from its return address to the end of the floating-point state, as
 * the kernel lays it out (arch/x86/kernel/signal_64.c): moved to below `top`, and
 * handler(signal, info, context) called there as the kernel would have. Never returns.
 */
#define PORT_ARCH_FRAME_MOVE(context, info, top, signal, handler)                                  \
    do {                                                                                           \
        char *from_ = (char *)(context) - sizeof(void *);                                          \
        char *fp_ = (char *)(context)->uc_mcontext.fpregs;                                         \
        size_t room_ = port_arch_fp_bytes(fp_);                                                    \
        uintptr_t end_ = (uintptr_t)(top) & ~(uintptr_t)63;                                        \
        ptrdiff_t by_ = (ptrdiff_t)(end_ - ((room_ + 63) & ~(size_t)63) - (uintptr_t)fp_);         \
        memcpy(from_ + by_, from_, (size_t)(fp_ + room_ - from_));                                 \
        ucontext_t *moved_ = (ucontext_t *)((char *)(context) + by_);                              \
        moved_->uc_mcontext.fpregs = (void *)(fp_ + by_);                                          \
        __asm__ volatile("movq %0, %%rsp\n\t"                                                      \
                         "jmp *%1"                                                                 \
                         :                                                                         \
                         : "r"(from_ + by_), "r"(handler), "D"((long)(signal)),                    \
                           "S"((char *)(info) + by_), "d"(moved_)                                  \
                         : "memory");                                                              \
        __builtin_unreachable();                                                                   \
    } while (0)

/* Define long port_accept_call(int pid, int tid, int signal): tgkill. The signal is taken with the
 * instruction between port_accept_begin and port_accept_end. */
#define PORT_ARCH_ACCEPT_CALL                                                                      \
    PORT_ASM_FUNCTION(port_accept_call,                                                            \
                      PORT_ASM_HIDDEN("port_accept_call, port_accept_begin, port_accept_end"),     \
                      "movl $234, %eax\n"                                                          \
                      "port_accept_begin:\n\t"                                                     \
                      "syscall\n"                                                                  \
                      "port_accept_end:\n\t"                                                       \
                      "ret")

/* Define __sigsetjmp(env, save): posix_sigsetjmp(env, save) if save is not 0, and on with
 * *posix_next_sigsetjmp, as if that had been called. */
#define PORT_ARCH_SIGSETJMP                                                                        \
    PORT_ASM_FUNCTION(__sigsetjmp, "",                                                             \
                      "testl %esi, %esi\n\t"                                                       \
                      "jnz 1f\n\t"                                                                 \
                      "movq posix_next_sigsetjmp(%rip), %rax\n\t"                                  \
                      "testq %rax, %rax\n\t"                                                       \
                      "jnz 2f\n"                                                                   \
                      "1:\n\t"                                                                     \
                      "pushq %rdi\n\t"                                                             \
                      ".cfi_adjust_cfa_offset 8\n\t"                                               \
                      "pushq %rsi\n\t"                                                             \
                      ".cfi_adjust_cfa_offset 8\n\t"                                               \
                      "subq $8, %rsp\n\t"                                                          \
                      ".cfi_adjust_cfa_offset 8\n\t"                                               \
                      "call posix_sigsetjmp\n\t"                                                   \
                      "addq $8, %rsp\n\t"                                                          \
                      ".cfi_adjust_cfa_offset -8\n\t"                                              \
                      "popq %rsi\n\t"                                                              \
                      ".cfi_adjust_cfa_offset -8\n\t"                                              \
                      "popq %rdi\n\t"                                                              \
                      ".cfi_adjust_cfa_offset -8\n"                                                \
                      "2:\n\t"                                                                     \
                      "jmpq *posix_next_sigsetjmp(%rip)")

/* Define void port_call_on(int signal, void *info, void *context, void (*fn)(int, void *, void *),
 * void *top): call fn on the stack that ends at top. */
#define PORT_ARCH_CALL_ON                                                                          \
    PORT_ASM_FUNCTION(port_call_on, PORT_ASM_HIDDEN("port_call_on"),                               \
                      "pushq %rbp\n\t"                                                             \
                      ".cfi_def_cfa_offset 16\n\t"                                                 \
                      ".cfi_offset 6, -16\n\t"                                                     \
                      "movq %rsp, %rbp\n\t"                                                        \
                      ".cfi_def_cfa_register 6\n\t"                                                \
                      "andq $-16, %r8\n\t"                                                         \
                      "movq %r8, %rsp\n\t"                                                         \
                      "call *%rcx\n\t"                                                             \
                      "leave\n\t"                                                                  \
                      ".cfi_def_cfa 7, 8\n\t"                                                      \
                      "ret")

/* The value of an initial-exec TLS pointer variable by one read relative to the thread pointer: the
 * compiler cannot keep its address across a switch, after which another kernel thread may run us.
 */
#define PORT_ARCH_TLS_LOAD(out, var)                                                               \
    __asm__ volatile("movq " #var "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=&r"(out))

/* The offset of an initial-exec TLS variable from the thread pointer: the same in each thread. */
#define PORT_ARCH_TLS_OFFSET(out, var) __asm__("movq " #var "@gottpoff(%%rip), %0" : "=r"(out))

/* The thread pointer (FS base). TLS blocks lie below it (variant 2 of the TLS document). Writing it
 * takes an instruction where the kernel allows it (AT_HWCAP2, bit 1; CPUID does not say that), else
 * a system call. */
#define PORT_ARCH_TLS_VARIANT 2
#define PORT_ARCH_TLS_HWCAP2 2u

ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    uintptr_t tp;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    if (likely(by_instruction)) {
        __asm__ volatile("wrfsbase %0" : : "r"(tp) : "memory");
    } else {
        long result = 158; /* arch_prctl(ARCH_SET_FS, tp), without errno, which lies behind tp */
        __asm__ volatile("syscall" : "+a"(result) : "D"(0x1002), "S"(tp) : "rcx", "r11", "memory");
    }
}

/* Rights of protection keys (PKRU), where the processor has them and the kernel uses them (CPUID
 * leaf 7, ecx, bit 4). */
#define PORT_ARCH_PKEYS

ALWAYS_INLINE bool port_arch_has_pkeys(void)
{
    uint32_t a, b, c, d;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(0), "2"(0));
    if (a < 7) {
        return false;
    }
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
    return (c & 1u << 4) != 0;
}

ALWAYS_INLINE uint32_t port_arch_pkeys(void)
{
    uint32_t rights, zero;
    __asm__ volatile("rdpkru" : "=a"(rights), "=d"(zero) : "c"(0) : "memory");
    return rights;
}

ALWAYS_INLINE void port_arch_pkeys_set(uint32_t rights)
{
    __asm__ volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}

/* Rounding, exception masks, and the SSE exception flags. The exception flags of the x87 unit stay
 * with the CPU: reading and writing them costs more than all of this. */
struct port_fp {
    uint32_t mxcsr;
    uint16_t x87;
};

ALWAYS_INLINE void port_arch_fp_save(struct port_fp *fp)
{
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(fp->mxcsr), "=m"(fp->x87));
}

/* `now` is what the registers hold. */
ALWAYS_INLINE void port_arch_fp_load(const struct port_fp *fp, const struct port_fp *now)
{
    if (unlikely(fp->mxcsr != now->mxcsr)) {
        __asm__ volatile("ldmxcsr %0" : : "m"(fp->mxcsr));
    }
    if (unlikely(fp->x87 != now->x87)) {
        __asm__ volatile("fldcw %0" : : "m"(fp->x87));
    }
}

#endif
