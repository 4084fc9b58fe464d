/* SPDX-License-Identifier: MIT */
    .syntax unified
    .arm
    .fpu    vfpv2
    .section .text.start, "ax"
    .globl  _start
_start:
    cpsid   if, #0x1f               /* system mode */
    mrc     p15, 0, r0, c1, c0, 2
    orr     r0, r0, #0xf00000       /* coprocessors 10, 11: floating point */
    mcr     p15, 0, r0, c1, c0, 2
    mov     r0, #0
    mcr     p15, 0, r0, c7, c5, 4   /* as isb, which ARMv6 does not have */
    mov     r0, #0x40000000
    vmsr    fpexc, r0
    ldr     sp, =__stack
    ldr     r0, =__bss_start
    ldr     r1, =__bss_end
    mov     r2, #0
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
