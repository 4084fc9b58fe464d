/* SPDX-License-Identifier: MIT */
    .syntax unified
    .thumb
    .section .text.start, "ax"
    .balign 128
    .word   __stack
    .word   _start
    .globl  _start
    .type   _start, %function
    .thumb_func
_start:
#ifdef __ARM_FP
    ldr     r0, =0xe000ed88         /* CPACR: coprocessors 10, 11: floating point */
    ldr     r1, [r0]
    orr     r1, r1, #0xf00000
    str     r1, [r0]
    dsb
    isb
#endif
    ldr     r0, =__bss_start
    ldr     r1, =__bss_end
    movs    r2, #0
1:  str     r2, [r0], #4
    cmp     r0, r1
    blo     1b
    ldr     r0, =__tls_base
    bl      _init_tls
    ldr     r0, =__tls_base
    bl      _set_tls
    bl      __libc_init_array
    bl      main
    bl      exit
