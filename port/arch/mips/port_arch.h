/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (MIPS32 release 2, o32, 32-bit floating-point registers) - the context switch. See
 * the x86-64 one for the technique: an inlined switch that clobbers every register, so that the
 * compiler saves what is live. The frame pointer ($30) is saved by hand; $28 belongs to the
 * program, $26 and $27 to the trap's entry. The floating-point control register is not switched, as
 * MXCSR on x86-64.
 *
 * The ABI has a function's fifth argument on the stack, above room for the first four: the switch
 * leaves that free on each stack that it leaves, and stores the note's last word there before it
 * jumps.
 *
 * The jump goes through $25: through $31 it would count as a return. $31 is zero at the jump: a new
 * thread begins with it, and unwinders stop there.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"

#define PORT_ARCH_NAME "mipsel"

/* Where a function keeps its caller's frame pointer is its own affair: port/env/frames.h. */
#define PORT_ARCH_FRAME_NONE

/* At the stack pointer of a thread that does not run: room for arguments in registers, the fifth
 * one, the frame pointer. A multiple of 16. */
#define PORT_ARCH_ROOM 32

struct port_ctx {
    void *sp;
    void *pc;
};

ALWAYS_INLINE void port_ctx_init(struct port_ctx *ctx, void *low, size_t size,
                                 port_ctx_entry_t *entry)
{
    uintptr_t top = ((uintptr_t)low + size) & ~(uintptr_t)15;
    ctx->sp = (void *)(top - PORT_ARCH_ROOM);
    ctx->pc = (void *)entry;
}

ALWAYS_INLINE struct port_note port_ctx_switch(struct port_ctx *from, struct port_ctx *to,
                                               struct port_note note)
{
    register struct port_ctx *f __asm__("$4") = from;
    register struct port_ctx *t __asm__("$5") = to;
    register void *cpu __asm__("$6") = note.cpu;
    register void *arg __asm__("$7") = note.arg;
    register uintptr_t post __asm__("$2") = note.post;
    __asm__ volatile(".set push\n\t"
                     ".set noreorder\n\t"
                     "addiu $29, $29, -32\n\t"
                     "sw $30, 28($29)\n\t"
                     "lui $25, %%hi(1f)\n\t"
                     "addiu $25, $25, %%lo(1f)\n\t"
                     "sw $29, 0($4)\n\t"
                     "sw $25, 4($4)\n\t"
                     "lw $25, 4($5)\n\t"
                     "lw $29, 0($5)\n\t"
                     "move $31, $0\n\t"
                     "jr $25\n\t"
                     "sw $2, 16($29)\n"
                     "1:\n\t"
                     "lw $30, 28($29)\n\t"
                     "addiu $29, $29, 32\n\t"
                     ".set pop"
                     : "+r"(f), "+r"(t), "+r"(cpu), "+r"(arg), "+r"(post)
                     :
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16",
                       "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$24", "$25", "$31", "hi",
                       "lo", "$f0", "$f1", "$f2", "$f3", "$f4", "$f5", "$f6", "$f7", "$f8", "$f9",
                       "$f10", "$f11", "$f12", "$f13", "$f14", "$f15", "$f16", "$f17", "$f18",
                       "$f19", "$f20", "$f21", "$f22", "$f23", "$f24", "$f25", "$f26", "$f27",
                       "$f28", "$f29", "$f30", "$f31", "$fcc0", "$fcc1", "$fcc2", "$fcc3", "$fcc4",
                       "$fcc5", "$fcc6", "$fcc7", "memory");
    return (struct port_note){f, cpu, arg, post};
}

/* `pause` is only for loops around `ll`: elsewhere it may wait for a store to the word that the
 * last `ll` has read. This one (ssnop) issues alone. */
ALWAYS_INLINE void port_cpu_relax(void)
{
    __asm__ volatile("ssnop" ::: "memory");
}

/* The thread pointer. TLS blocks begin 0x7000 below it (variant 1 of the TLS document). */
#define PORT_ARCH_TLS_VARIANT 1

ALWAYS_INLINE uintptr_t port_arch_tp(void)
{
    uintptr_t tp;
    __asm__ volatile("rdhwr %0, $29" : "=r"(tp));
    return tp;
}

/* UserLocal */
ALWAYS_INLINE void port_arch_tp_set(uintptr_t tp, bool by_instruction)
{
    (void)by_instruction;
    __asm__ volatile("mtc0 %0, $4, 2\n\tehb" : : "r"(tp) : "memory");
}

/* Rounding, exception flags and masks. */
struct port_fp {
    uint32_t control;
};

ALWAYS_INLINE void port_arch_fp_save(struct port_fp *fp)
{
    __asm__ volatile("cfc1 %0, $31" : "=r"(fp->control));
}

ALWAYS_INLINE void port_arch_fp_load(const struct port_fp *fp, const struct port_fp *now)
{
    if (unlikely(fp->control != now->control)) {
        __asm__ volatile("ctc1 %0, $31" : : "r"(fp->control));
    }
}

#endif
