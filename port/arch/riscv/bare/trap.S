/* SPDX-License-Identifier: MIT */
/*
 * trap.S (RISC-V) - interrupts and exceptions: what a call would lose is saved on the running
 * thread's stack, so that the thread can be switched away from inside like any other. A frame that
 * would not fit ends the program, on the core's own stack.
 *
 * Debuggers find the interrupted code by the frame: it is described in .debug_frame, which is not
 * loaded. The return address is a column of its own, because the interrupted code's ra is
 * another one.
 */
#include "arch_bare.h"

#if __riscv_xlen == 64
#define SAVE sd
#define LOAD ld
#else
#define SAVE sw
#define LOAD lw
#endif
#if defined(__riscv_flen) && __riscv_flen == 64
#define FSAVE fsd
#define FLOAD fld
#else
#define FSAVE fsw
#define FLOAD flw
#endif

    /* op ra, 0(sp) ... of the registers that calls do not keep */
    .macro each op
    \op ra, 0*ARCH_WORD(sp)
    \op t1, 2*ARCH_WORD(sp)
    \op t2, 3*ARCH_WORD(sp)
    \op t3, 4*ARCH_WORD(sp)
    \op t4, 5*ARCH_WORD(sp)
    \op t5, 6*ARCH_WORD(sp)
    \op t6, 7*ARCH_WORD(sp)
    \op a0, 8*ARCH_WORD(sp)
    \op a1, 9*ARCH_WORD(sp)
    \op a2, 10*ARCH_WORD(sp)
    \op a3, 11*ARCH_WORD(sp)
    \op a4, 12*ARCH_WORD(sp)
    \op a5, 13*ARCH_WORD(sp)
    \op a6, 14*ARCH_WORD(sp)
    \op a7, 15*ARCH_WORD(sp)
    .endm

    .macro each_fp op
#ifdef __riscv_flen
    .set at, ARCH_FRAME_FP
    .irp reg, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
    \op \reg, at(sp)
    .set at, at + __riscv_flen / 8
    .endr
#endif
    .endm

    .cfi_sections .debug_frame
#define RETURN_COLUMN 64

    /* Where `each` has put a register, from the frame's end. */
    .macro saved reg, word
    .cfi_offset \reg, \word*ARCH_WORD - ARCH_FRAME_SIZE
    .endm

    .section .text.trap, "ax"
    .globl trap_entry
    .type trap_entry, @function
    .balign 4
trap_entry:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    .cfi_undefined RETURN_COLUMN
    csrrw t0, mscratch, t0              /* t0: the core; mscratch: t0 */
    SAVE t1, BARE_CORE_SCRATCH(t0)
    LOAD t1, BARE_CORE_STACK_LOW(t0)
    addi t1, t1, ARCH_FRAME_SIZE
    bltu sp, t1, no_room
    LOAD t1, BARE_CORE_SCRATCH(t0)
    addi sp, sp, -ARCH_FRAME_SIZE
    each SAVE
    csrrw t0, mscratch, t0
    SAVE t0, 1*ARCH_WORD(sp)
    csrr a1, mepc
    csrr a2, mstatus
    SAVE a1, ARCH_FRAME_PC(sp)
    SAVE a2, ARCH_FRAME_STATUS(sp)
    SAVE s0, ARCH_FRAME_CHAIN(sp)
    each_fp FSAVE
#ifdef __riscv_flen
    frcsr a2
    SAVE a2, ARCH_FRAME_FCSR(sp)
#endif
#ifdef BOARD_PMP_GRANULE
    lui a2, 1                           /* from machine to supervisor mode's rights: the handlers, */
    csrc mstatus, a2                    /* too, find the stack's end */
#endif
    csrr a0, mcause
    mv a1, sp
    .cfi_remember_state
    .cfi_def_cfa sp, ARCH_FRAME_SIZE
    .cfi_offset RETURN_COLUMN, ARCH_FRAME_PC - ARCH_FRAME_SIZE
    saved ra, 0
    saved t0, 1
    saved t1, 2
    saved t2, 3
    saved t3, 4
    saved t4, 5
    saved t5, 6
    saved t6, 7
    saved a0, 8
    saved a1, 9
    saved a2, 10
    saved a3, 11
    saved a4, 12
    saved a5, 13
    saved a6, 14
    saved a7, 15
    call arch_trap
#ifdef __riscv_flen
    LOAD a2, ARCH_FRAME_FCSR(sp)
    fscsr a2
#endif
    each_fp FLOAD
    LOAD a1, ARCH_FRAME_PC(sp)
    LOAD a2, ARCH_FRAME_STATUS(sp)
    csrw mepc, a1
    csrw mstatus, a2
    addi a0, sp, ARCH_FRAME_STATUS      /* done with: a reservation ends, which an lr has made before */
    sc.w zero, zero, (a0)
    LOAD t0, 1*ARCH_WORD(sp)
    each LOAD
    addi sp, sp, ARCH_FRAME_SIZE
    .cfi_restore_state
    mret

no_room:
    csrr a0, mepc
    LOAD sp, BARE_CORE_TRAP_STACK(t0)
    csrw mscratch, t0
    li s0, 0
    call bare_no_room
    .cfi_endproc
    .size trap_entry, . - trap_entry

    /* long arch_semihost(unsigned long operation, const void *arguments): the three instructions
     * are what the machine looks for, uncompressed. */
    .section .text.semihost, "ax"
    .globl arch_semihost, semihost_trap
    .type arch_semihost, @function
    .balign 16
arch_semihost:
    .cfi_startproc
    .option push
    .option norvc
    slli zero, zero, 0x1f
semihost_trap:
    ebreak
    srai zero, zero, 7
    .option pop
    ret
    .cfi_endproc
    .size arch_semihost, . - arch_semihost
