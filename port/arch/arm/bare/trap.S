/* SPDX-License-Identifier: MIT */
/*
 * trap.S (ARM) - interrupts and faults. An interrupt's frame is on the running thread's stack, in
 * system mode, so that the thread can be switched away from inside like any other. A frame that
 * would not fit ends the program, on the core's own stack, and so does a fault.
 *
 * Debuggers find the interrupted code by the frame, at the first of the two words that are pushed
 * last: it is described in .debug_frame, which is not loaded. The return address is a column of its
 * own, because the interrupted code's lr is another one.
 *
 * In the modes that interrupts and faults come in, sp is the core's struct bare_core.
 */
#include "arch_bare.h"

    .syntax unified
    .arm

    .cfi_sections .debug_frame
#define RETURN_COLUMN 15
    .set FRAME, 9 * 4                   /* the registers, pc, status */

    .section .text.trap, "ax"
    .globl trap_interrupt, trap_fast, trap_undefined, trap_call, trap_fetch, trap_data
    .type trap_interrupt, %function
trap_interrupt:
    .fnstart
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    .cfi_undefined RETURN_COLUMN
    sub     lr, lr, #4
    stmib   sp, {r0, r1}
    mov     r0, sp
    cps     #ARCH_MODE_SYSTEM
    ldr     r1, [r0, #BARE_CORE_STACK_LOW]
    add     r1, r1, #ARCH_FRAME_SIZE
    cmp     sp, r1
    cps     #ARCH_MODE_INTERRUPT
    blo     no_room
    ldmib   sp, {r0, r1}
    srsdb   sp!, #ARCH_MODE_SYSTEM
    cps     #ARCH_MODE_SYSTEM
    push    {r0-r3, r11, r12, lr}
    mov     r0, sp
    bic     sp, sp, #7
#ifdef __ARM_NEON
    vpush   {d16-d31}
#endif
#ifdef __ARM_FP
    vpush   {d0-d7}
    vmrs    r1, fpscr
#endif
    push    {r0, r1}
    .cfi_remember_state
    .cfi_escape 0x0f, 5, 0x7d, 0, 0x06, 0x23, FRAME  /* the frame's end: *sp + FRAME */
    .cfi_offset r0, 0*4 - FRAME
    .cfi_offset r1, 1*4 - FRAME
    .cfi_offset r2, 2*4 - FRAME
    .cfi_offset r3, 3*4 - FRAME
    .cfi_offset r11, 4*4 - FRAME
    .cfi_offset r12, 5*4 - FRAME
    .cfi_offset lr, 6*4 - FRAME
    .cfi_offset RETURN_COLUMN, 7*4 - FRAME
    bl      arch_interrupt
    pop     {r0, r1}
#ifdef __ARM_FP
    vmsr    fpscr, r1
    vpop    {d0-d7}
#endif
#ifdef __ARM_NEON
    vpop    {d16-d31}
#endif
    mov     sp, r0
    clrex                               /* an ldrex before the interrupt has no strex behind it */
    pop     {r0-r3, r11, r12, lr}
    .cfi_restore_state
    rfeia   sp!

no_room:
    mov     r0, lr
    ldr     r1, [sp, #BARE_CORE_TRAP_STACK]
    cps     #ARCH_MODE_SYSTEM
    mov     sp, r1
    mov     r11, #0
    bl      bare_no_room
    .cantunwind
    .cfi_endproc
    .fnend
    .size trap_interrupt, . - trap_interrupt

    /* arch_fault(which, pc, where its function returns to, sp) */
    .type trap_undefined, %function
trap_undefined:
    .fnstart
    sub     r1, lr, #4
    mov     r0, #ARCH_FAULT_UNDEFINED
    b       fault
trap_fetch:
    sub     r1, lr, #4
    mov     r0, #ARCH_FAULT_FETCH
    b       fault
trap_data:
    sub     r1, lr, #8
    mov     r0, #ARCH_FAULT_DATA
    b       fault
trap_fast:
    sub     r1, lr, #4
    mov     r0, #ARCH_FAULT_FAST
    b       fault
    /* No host serves arch_semihost's call: it returns -1. */
trap_call:
    ldr     r12, =semihost_return
    cmp     lr, r12
    mvneq   r0, #0
    movseq  pc, lr
    sub     r1, lr, #4
    mov     r0, #ARCH_FAULT_CALL
fault:
    ldr     r12, [sp, #BARE_CORE_TRAP_STACK]
    cps     #ARCH_MODE_SYSTEM
    mov     r2, lr
    mov     r3, sp
    mov     sp, r12
    mov     r11, #0
    bl      arch_fault
    .cantunwind
    .fnend
    .size trap_undefined, . - trap_undefined

    /* void arch_core_set(struct bare_core *core), in system mode */
    .section .text.arch_core_set, "ax"
    .globl arch_core_set
    .type arch_core_set, %function
arch_core_set:
    mcr     p15, 0, r0, c13, c0, 4
    mrs     r1, cpsr
    .irp mode, 0x11, ARCH_MODE_INTERRUPT, 0x13, 0x17, 0x1b
    cpsid   if, #\mode                  /* fast interrupt, interrupt, supervisor, abort, undefined */
    mov     sp, r0
    .endr
    msr     cpsr_c, r1
    bx      lr
    .size arch_core_set, . - arch_core_set

    /* long arch_semihost(unsigned long operation, const void *arguments) */
    .section .text.semihost, "ax"
    .globl arch_semihost
    .type arch_semihost, %function
arch_semihost:
    svc     0x123456
semihost_return:
    bx      lr
    .size arch_semihost, . - arch_semihost
