/* SPDX-License-Identifier: MIT */
/*
 * trap.S (MIPS) - interrupts and exceptions: what a call would lose is saved on the running
 * thread's stack, so that the thread can be switched away from inside like any other. A frame that
 * would not fit ends the program, on the core's own stack.
 *
 * Debuggers find the interrupted code by the frame: it is described in .debug_frame, which is not
 * loaded. The return address is a column of its own, because the interrupted code's $31 is
 * another one.
 *
 * Waiting: this CPU's `wait` does not end for interrupts that are masked. So arch_wait lets them
 * in, and an interrupt that is taken between there and the end of arch_wait handles nothing: it
 * masks interrupts again and goes on behind the instruction, wherever before or after that it came.
 * It is still pending when the caller lets interrupts in.
 */
#include "arch_bare.h"

/* CP0 registers */
#define STATUS $12
#define CAUSE $13
#define EPC $14
#define CORE $31, 2

    .set noat

    /* op $1, 16($29) ... of the registers that calls do not keep */
    .macro each op
    .set place, 16
    .irp reg, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $24, $25, $28, $31
    \op \reg, place($29)
    .set place, place + 4
    .endr
    .endm

    /* pairs */
    .macro each_fp op
    .set place, ARCH_FRAME_FP
    .irp reg, $f0, $f2, $f4, $f6, $f8, $f10, $f12, $f14, $f16, $f18
    \op \reg, place($29)
    .set place, place + 8
    .endr
    .endm

    .cfi_sections .debug_frame
#define RETURN_COLUMN 66

    /* Where `each` has put its registers, from the frame's end. */
    .macro each_saved
    .set place, 16 - ARCH_FRAME_SIZE
    .irp reg, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 31
    .cfi_offset \reg, place
    .set place, place + 4
    .endr
    .endm

    .section .text.trap, "ax"
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    .cfi_undefined RETURN_COLUMN
    mfc0 $26, EPC
    la $27, wait_begin
    subu $26, $26, $27
    sltiu $26, $26, wait_end - wait_begin
    bnez $26, in_wait
    mfc0 $26, CORE
    lw $27, BARE_CORE_STACK_LOW($26)
    addiu $27, $27, ARCH_FRAME_SIZE
    sltu $27, $29, $27
    bnez $27, no_room
    addiu $29, $29, -ARCH_FRAME_SIZE
    each sw
    mfhi $8
    mflo $9
    sw $8, ARCH_FRAME_HI($29)
    sw $9, ARCH_FRAME_HI+4($29)
    mfc0 $8, EPC
    mfc0 $9, STATUS
    sw $8, ARCH_FRAME_PC($29)
    sw $9, ARCH_FRAME_STATUS($29)
    cfc1 $8, $31
    sw $8, ARCH_FRAME_FCSR($29)
    each_fp sdc1
    li $8, ARCH_STATUS              /* from here on an exception is one like any other */
    mtc0 $8, STATUS
    ehb
    mfc0 $4, CAUSE
    move $5, $29
    .cfi_remember_state
    .cfi_def_cfa 29, ARCH_FRAME_SIZE
    .cfi_offset RETURN_COLUMN, ARCH_FRAME_PC - ARCH_FRAME_SIZE
    each_saved
    jal arch_trap
    lw $8, ARCH_FRAME_STATUS($29)   /* as the entry has found it: eret ends that */
    mtc0 $8, STATUS
    ehb
    lw $8, ARCH_FRAME_PC($29)
    mtc0 $8, EPC
    each_fp ldc1
    lw $8, ARCH_FRAME_FCSR($29)
    ctc1 $8, $31
    lw $8, ARCH_FRAME_HI($29)
    lw $9, ARCH_FRAME_HI+4($29)
    mthi $8
    mtlo $9
    each lw
    addiu $29, $29, ARCH_FRAME_SIZE
    .cfi_restore_state
    ehb
    eret

in_wait:
    la $27, wait_end
    mtc0 $27, EPC
    mfc0 $26, STATUS
    ins $26, $0, 0, 1
    mtc0 $26, STATUS
    ehb
    eret

no_room:
    mfc0 $4, EPC
    lw $29, BARE_CORE_TRAP_STACK($26)
    la $25, bare_no_room
1:  li $8, ARCH_STATUS
    mtc0 $8, STATUS
    ehb
    addiu $29, $29, -16
    move $30, $0
    jalr $25

    /* An sdbbp that is no call, at $26; interrupts are disabled (start.S). */
    .globl breakpoint
breakpoint:
    move $4, $26
    move $5, $29
    mfc0 $26, CORE
    lw $29, BARE_CORE_TRAP_STACK($26)
    la $25, arch_breakpoint
    b 1b
    .cfi_endproc
    .size trap_entry, . - trap_entry

    .globl arch_wait
    .type arch_wait, @function
    .set push
    .set noreorder
arch_wait:
    .cfi_startproc
    ei
wait_begin:
    ehb
    wait
    di
    ehb
wait_end:
    jr $31
    nop
    .cfi_endproc
    .set pop
    .size arch_wait, . - arch_wait

    /* long arch_uhi(operation, first, second, third, long *error) */
    .globl arch_uhi, semihost_trap
    .type arch_uhi, @function
arch_uhi:
    .cfi_startproc
    move $25, $4
    move $4, $5
    move $5, $6
    move $6, $7
    move $3, $0
semihost_trap:
    sdbbp 1
    lw $8, 16($29)
    sw $3, 0($8)
    jr $31
    .cfi_endproc
    .size arch_uhi, . - arch_uhi
