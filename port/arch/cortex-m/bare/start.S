/* SPDX-License-Identifier: MIT */
/*
 * start.S (ARM's microcontrollers) - the table of vectors, from which the processor takes its first
 * stack pointer and its first instruction, and the way to C.
 *
 * The main stack is the core's trap stack; the code here needs none.
 */
#include "arch_bare.h"
#include "board_map.h"
#include "system.h"

    .syntax unified
    .thumb

    /* At the address where the processor looks at reset; later on the table's register shows it. */
    .section .text.vectors, "ax"
    .balign 1024                        /* the next power of two behind the largest table */
vectors:
    .word   bare_core_stacks + BARE_TRAP_STACK
    .word   _start
    .word   trap_fault                  /* NMI */
    .word   trap_fault                  /* HardFault */
    .word   trap_fault                  /* MemManage */
    .word   trap_fault                  /* BusFault */
    .word   trap_fault                  /* UsageFault */
    .word   trap_fault                  /* SecureFault */
    .rept   3
    .word   trap_fault
    .endr
    .word   trap_call                   /* SVCall */
    .word   trap_fault                  /* DebugMonitor */
    .word   trap_fault
    .word   trap_interrupt              /* PendSV */
    .word   trap_interrupt              /* SysTick */
    .rept   BOARD_INTERRUPTS
    .word   trap_interrupt
    .endr

    .section .text.start, "ax"
    .globl _start
    .type _start, %function
    .thumb_func
_start:
    .fnstart
    movs    r0, #ARCH_PRIORITY
    msr     basepri, r0
    ldr     r1, =SYSTEM_VECTORS
    ldr     r0, =vectors
    str     r0, [r1]
#ifdef __ARM_FP
    ldr     r1, =SYSTEM_COPROCESSORS
    ldr     r0, [r1]
    orr     r0, r0, #COPROCESSORS_FP
    str     r0, [r1]
    /* An interrupt saves registers at once, not when a handler uses them: the thread may be
     * switched away from before. */
    ldr     r1, =SYSTEM_FP_CONTROL
    ldr     r0, [r1]
    bic     r0, r0, #FP_CONTROL_LAZY
    str     r0, [r1]
    dsb
    isb
    movs    r0, #0
    vmsr    fpscr, r0
#endif
    ldr     r1, =SYSTEM_CONFIGURATION
    ldr     r0, [r1]
    ldr     r2, =CONFIGURATION_ON
    orr     r0, r0, r2
    ldr     r2, =bare_aligned
    orr     r0, r0, r2, lsl #3          /* unaligned accesses trap */
    str     r0, [r1]
    ldr     r1, =SYSTEM_HANDLERS
    ldr     r0, [r1]
    orr     r0, r0, #HANDLERS_FAULTS
    str     r0, [r1]
    ldr     r1, =SYSTEM_PRIORITY_LAST
    ldr     r0, =(ARCH_PRIORITY_OF(0) << 16 | ARCH_PRIORITY_OF(0) << 24)
    str     r0, [r1]                    /* PendSV, SysTick; supervisor calls have the highest one */

    ldr     r0, =bare_data_begin
    ldr     r1, =bare_data_end
    ldr     r2, =bare_data_source
    cmp     r0, r2
    beq     2f                          /* it is there already */
1:  cmp     r0, r1
    itt     lo
    ldrlo   r3, [r2], #4
    strlo   r3, [r0], #4
    blo     1b
2:  ldr     r0, =__bss_start
    ldr     r1, =__bss_end
    movs    r2, #0
3:  cmp     r0, r1
    it      lo
    strlo   r2, [r0], #4
    blo     3b

    ldr     r0, =bare_first_stack_top
    msr     psp, r0
    movs    r0, #2                      /* privileged, on the process stack */
    msr     control, r0
    isb
    movs    r0, #0
    mov     r11, r0
    bl      bare_main
    .pool
    .cantunwind
    .fnend
    .size _start, . - _start
