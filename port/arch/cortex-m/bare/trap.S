/* SPDX-License-Identifier: MIT */
/*
 * trap.S (ARM's microcontrollers) - interrupts, faults, and how an interrupted thread is switched
 * away from.
 *
 * The hardware puts an interrupt's frame on the thread's stack and enters handler mode, on the main
 * stack. No thread can be left there: other interrupts would wait until the handler has returned.
 * So if the thread is to make room, the handler returns, with a second frame, to `away`, which runs
 * in thread mode as if the thread had called it, with interrupts disabled. When the thread goes on,
 * `away` makes a supervisor call, whose handler returns by the first frame: only the return from a
 * handler restores what an interrupt may come in the middle of (conditions, lists of registers).
 *
 * An interrupt of a higher priority may come in a handler that lets it in (bare_irq.c), and also
 * before the entry below has raised BASEPRI and behind where it has lowered it again, where the
 * interrupted one does not count yet, or not any more. EXC_RETURN tells: its frame is on the main
 * stack. Its end switches nobody; if a thread is to be switched away from, it asks for an interrupt
 * of the lowest priority (PendSV), which comes when all others have returned.
 */
#include "arch_bare.h"

/* Of EXC_RETURN, which lr has in a handler. */
#define RETURN_NO_FP 0x10
#define RETURN_PROCESS_STACK 4
#define STATUS_THUMB 0x01000000
#define CONTROL_FP 4
#define FRAME_BYTES 32
#define FRAME_PC 24
#define FAULT_ROOM 1024 /* what a report needs at least */

/* For debuggers, in `away`: its stack begins with the frame's address and EXC_RETURN. What was
 * interrupted has its stack pointer behind the frame; 72 bytes more if that has floating point (bit
 * 4 is 0), 4 if the hardware has aligned it (bit 9 of the status). A register is at the frame's
 * address and an offset. */
#define CFA_EXPRESSION 0x0f
#define FRAME_END 0x7d, 0, 0x06, 0x12, 0x23, 28, 0x06, 0x39, 0x25, 0x31, 0x1a, 0x32, 0x24, 0x22, 0x23, FRAME_BYTES
#define WITH_FP 0x7d, 4, 0x06, 0x34, 0x25, 0x31, 0x1a, 0x31, 0x27, 0x08, 72, 0x1e, 0x22
    .macro saved number, at
    .cfi_escape 0x10, \number, 5, 0x7d, 0, 0x06, 0x23, \at
    .endm

    .syntax unified
    .thumb

    .cfi_sections .debug_frame
#define RETURN_COLUMN 15

    .section .text.trap, "ax"
    .globl trap_interrupt, trap_fault, trap_call
    .type trap_interrupt, %function
    .thumb_func
trap_interrupt:
    .fnstart
    mrs     r0, psp
    ldr     r2, =bare_cores
    ldr     r1, [r2, #BARE_CORE_STACK_LOW]
    cmp     r0, r1
    blo     no_room
    movs    r1, #ARCH_PRIORITY
    msr     basepri, r1
    ands    r1, lr, #RETURN_PROCESS_STACK
    it      eq
    moveq   r0, sp
    push    {r4, lr}
    mov     r4, r0
    bl      arch_interrupt              /* (frame, no handler): the thread is to be switched away from */
    mov     r1, r4
    pop     {r4, lr}
    cbnz    r0, 1f
    msr     basepri, r0
    bx      lr

    /* A frame for `away(frame, lr)`. */
1:  sub     r0, r1, #FRAME_BYTES
    mov     r2, lr
    movs    r3, #0
    stmia   r0!, {r1, r2, r3}
    mov     r1, r3
    mov     r12, r3
    ldr     r2, =away
    bic     r2, r2, #1
    movs    r3, #0
    stmia   r0!, {r1, r3, r12}          /* r3, r12, lr */
    mov     r3, #STATUS_THUMB
    stmia   r0!, {r2, r3}
    sub     r0, r0, #FRAME_BYTES
    msr     psp, r0
    orr     lr, lr, #RETURN_NO_FP
    bx      lr

no_room:
    ldr     r0, [r0, #FRAME_PC]
    ldr     r1, [r2, #BARE_CORE_TRAP_STACK]
    movs    r2, #ARCH_PRIORITY
    msr     basepri, r2
    mov     sp, r1
    bl      bare_no_room
    .pool
    .cantunwind
    .fnend
    .size trap_interrupt, . - trap_interrupt

    .type away, %function
    .thumb_func
away:
    .fnstart
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    .cfi_undefined RETURN_COLUMN
    push    {r0, r1}
    .cfi_remember_state
    .cfi_escape CFA_EXPRESSION, 29, FRAME_END, WITH_FP
    saved   0, 0
    saved   1, 4
    saved   2, 8
    saved   3, 12
    saved   12, 16
    saved   14, 20
    saved   RETURN_COLUMN, FRAME_PC
    bl      bare_irq_switch
    pop     {r0, r1}
    .cfi_restore_state
#ifdef __ARM_FP
    mrs     r2, control                 /* the call's frame has no floating point */
    bic     r2, r2, #CONTROL_FP
    msr     control, r2
    isb
#endif
    svc     0
away_end:
    udf     #0
    .cfi_endproc
    .cantunwind
    .fnend
    .size away, . - away

    /* The call of `away`: its frame is dropped, the return is by the interrupt's. */
    .type trap_call, %function
    .thumb_func
trap_call:
    .fnstart
    mrs     r2, psp
    ldr     r1, [r2, #FRAME_PC]
    ldr     r3, =away_end
    bic     r3, r3, #1
    cmp     r1, r3
    bne     trap_fault
    ldmia   r2, {r0, lr}
    msr     psp, r0
    movs    r0, #0
    msr     basepri, r0
    bx      lr
    .pool
    .cantunwind
    .fnend
    .size trap_call, . - trap_call

    /* arch_fault(frame, lr) returns if it was a call of the host that nobody serves. A handler's
     * fault has its frame on the main stack, which may be used up: then it begins again. */
    .type trap_fault, %function
    .thumb_func
trap_fault:
    .fnstart
    mrs     r0, psp
    tst     lr, #RETURN_PROCESS_STACK
    it      eq
    moveq   r0, sp
    mov     r1, lr
    ldr     r2, =bare_core_stacks + ARCH_HANDLERS_ZONE + FAULT_ROOM
    cmp     sp, r2
    bhs     1f
    ldr     r2, =bare_core_stacks + BARE_TRAP_STACK
    mov     sp, r2
1:  push    {r4, lr}
    bl      arch_fault
    pop     {r4, pc}
    .pool
    .cantunwind
    .fnend
    .size trap_fault, . - trap_fault

    /* long arch_semihost(unsigned long operation, const void *arguments) */
    .section .text.semihost, "ax"
    .globl arch_semihost, arch_semihost_call
    .type arch_semihost, %function
    .thumb_func
arch_semihost:
    .fnstart
arch_semihost_call:
    bkpt    0xab
    bx      lr
    .cantunwind
    .fnend
    .size arch_semihost, . - arch_semihost

    /* void *__aeabi_read_tp(void): compilers expect that it changes r0 only. */
    .section .text.read_tp, "ax"
    .globl __aeabi_read_tp
    .type __aeabi_read_tp, %function
    .thumb_func
__aeabi_read_tp:
    .fnstart
    ldr     r0, =arch_thread_pointer
    ldr     r0, [r0]
    bx      lr
    .pool
    .cantunwind
    .fnend
    .size __aeabi_read_tp, . - __aeabi_read_tp
