/* SPDX-License-Identifier: MIT */
/*
 * trap.S (AArch64) - interrupts and faults. An interrupt's frame is on the running thread's stack,
 * so that the thread can be switched away from inside like any other. A frame that would not fit
 * ends the program, on the core's own stack, and so does a fault.
 *
 * A reservation that a load-exclusive made before the interrupt ends with the return from it
 * (eret).
 *
 * Debuggers find the interrupted code by the frame: it is described in .debug_frame, which is not
 * loaded. The return address is a column of its own, because the interrupted code's x30 is
 * another one.
 */
#include "arch_bare.h"

    .macro vector which
    .balign 128
    mov     x0, #\which
    b       fault
    .endm

    .cfi_sections .debug_frame
#define RETURN_COLUMN 32

    /* Four each, exception, interrupt, fast interrupt, error: of level 1 with the stack pointer of
     * level 0; of level 1; of level 0 with 64 bits; with 32 bits. */
    .section .text.trap, "ax"
    .globl arch_vectors
    .balign 2048
arch_vectors:
    .rept 4
    vector  ARCH_FAULT_LEVEL
    .endr
    .balign 128
    b       trap_exception
    .balign 128
    b       trap_interrupt
    vector  ARCH_FAULT_FAST
    vector  ARCH_FAULT_ERROR
    .rept 8
    vector  ARCH_FAULT_LEVEL
    .endr

    /* op x2, x3, at(sp) ... of the registers that calls do not keep, but x0 and x1 */
    .macro each op
    \op     x2, x3, [sp, #16]
    \op     x4, x5, [sp, #32]
    \op     x6, x7, [sp, #48]
    \op     x8, x9, [sp, #64]
    \op     x10, x11, [sp, #80]
    \op     x12, x13, [sp, #96]
    \op     x14, x15, [sp, #112]
    \op     x16, x17, [sp, #128]
    \op     x18, x30, [sp, #144]
    .endm

    /* The same for debuggers. */
    .macro saved first, second, at
    .cfi_offset x\first, \at - ARCH_FRAME_SIZE
    .cfi_offset x\second, \at + 8 - ARCH_FRAME_SIZE
    .endm

    .macro each_fp op
    .irp pair, "0,1", "2,3", "4,5", "6,7", "8,9", "10,11", "12,13", "14,15", "16,17", "18,19", "20,21", "22,23", "24,25", "26,27", "28,29", "30,31"
    fp_pair \op, \pair
    .endr
    .endm
    .macro fp_pair op, low, high
    \op     q\low, q\high, [sp, #ARCH_FRAME_FP + \low * 16]
    .endm

    .type trap_interrupt, %function
trap_interrupt:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    .cfi_undefined RETURN_COLUMN
    msr     tpidrro_el0, x0
    mrs     x0, tpidr_el1
    str     x1, [x0, #BARE_CORE_SCRATCH]
    ldr     x1, [x0, #BARE_CORE_STACK_LOW]
    add     x1, x1, #ARCH_FRAME_SIZE
    cmp     sp, x1
    b.lo    no_room
    ldr     x1, [x0, #BARE_CORE_SCRATCH]
    mrs     x0, tpidrro_el0
    sub     sp, sp, #ARCH_FRAME_SIZE
    stp     x0, x1, [sp]
    each    stp
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x0, x1, [sp, #ARCH_FRAME_PC]
    mrs     x0, fpcr
    mrs     x1, fpsr
    stp     x0, x1, [sp, #ARCH_FRAME_CONTROL]
    str     x29, [sp, #ARCH_FRAME_CHAIN]
    each_fp stp
    mov     x0, sp
    .cfi_remember_state
    .cfi_def_cfa sp, ARCH_FRAME_SIZE
    .cfi_offset RETURN_COLUMN, ARCH_FRAME_PC - ARCH_FRAME_SIZE
    saved   0, 1, 0
    saved   2, 3, 16
    saved   4, 5, 32
    saved   6, 7, 48
    saved   8, 9, 64
    saved   10, 11, 80
    saved   12, 13, 96
    saved   14, 15, 112
    saved   16, 17, 128
    saved   18, 30, 144
    bl      arch_interrupt
    each_fp ldp
    ldp     x0, x1, [sp, #ARCH_FRAME_CONTROL]
    msr     fpcr, x0
    msr     fpsr, x1
    ldp     x0, x1, [sp, #ARCH_FRAME_PC]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    each    ldp
    ldp     x0, x1, [sp]
    add     sp, sp, #ARCH_FRAME_SIZE
    .cfi_restore_state
    eret

no_room:
    ldr     x1, [x0, #BARE_CORE_TRAP_STACK]
    mrs     x0, elr_el1
    mov     sp, x1
    mov     x29, xzr
    bl      bare_no_room
    .cfi_endproc
    .size trap_interrupt, . - trap_interrupt

    /* arch_fault(which, pc, where its function returns to, sp) */
    .type trap_exception, %function
trap_exception:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_undefined x30
    /* No host serves arch_semihost's call: it returns -1. */
    mrs     x9, elr_el1
    adr     x10, semihost_trap
    cmp     x9, x10
    b.ne    1f
    mov     x0, #-1
    add     x9, x9, #4
    msr     elr_el1, x9
    eret
1:  mov     x0, #ARCH_FAULT_EXCEPTION
fault:
    msr     spsel, #1
    mrs     x4, tpidr_el1
    ldr     x4, [x4, #BARE_CORE_TRAP_STACK]
    mrs     x1, elr_el1
    mov     x2, x30
    mov     x3, sp
    mov     sp, x4
    mov     x29, xzr
    bl      arch_fault
    .cfi_endproc
    .size trap_exception, . - trap_exception

    /* long arch_semihost(unsigned long operation, const void *arguments) */
    .section .text.semihost, "ax"
    .globl arch_semihost
    .type arch_semihost, %function
arch_semihost:
    .cfi_startproc
semihost_trap:
    hlt     #0xf000
    ret
    .cfi_endproc
    .size arch_semihost, . - arch_semihost
