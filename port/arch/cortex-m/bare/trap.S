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
 */
#include "arch_bare.h"

/* Of EXC_RETURN, which lr has in a handler. */
#define RETURN_NO_FP 0x10
#define RETURN_PROCESS_STACK 4
#define STATUS_THUMB 0x01000000
#define CONTROL_FP 4
#define FRAME_BYTES 32
#define FRAME_PC 24

    .syntax unified
    .thumb

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
    push    {r4, lr}
    mov     r4, r0
    bl      arch_interrupt              /* (frame): the thread is to be switched away from */
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
    push    {r0, r1}
    bl      bare_irq_switch
    pop     {r0, r1}
#ifdef __ARM_FP
    mrs     r2, control                 /* the call's frame has no floating point */
    bic     r2, r2, #CONTROL_FP
    msr     control, r2
    isb
#endif
    svc     0
away_end:
    udf     #0
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

    /* arch_fault(frame, sp): r0 of 0 and a return if it was a call of the host that nobody serves.
     * In handler mode already: the frame is on the main stack. */
    .type trap_fault, %function
    .thumb_func
trap_fault:
    .fnstart
    mrs     r0, psp
    tst     lr, #RETURN_PROCESS_STACK
    it      eq
    moveq   r0, sp
    mov     r1, lr
    push    {r4, lr}
    bl      arch_fault
    pop     {r4, pc}
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
