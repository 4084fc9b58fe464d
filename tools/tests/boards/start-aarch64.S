/* SPDX-License-Identifier: MIT */
    .section .text.start, "ax"
    .globl  _start
_start:
    mov     x0, #(3 << 20)          /* floating point on */
    msr     cpacr_el1, x0
    isb
    ldr     x0, =__stack
    mov     sp, x0
    ldr     x0, =__bss_start
    ldr     x1, =__bss_end
1:  str     wzr, [x0], #4
    cmp     x0, x1
    b.lo    1b
    ldr     x0, =__tls_base
    bl      _init_tls
    ldr     x0, =__tls_base
    bl      _set_tls
    bl      __libc_init_array
    bl      main
    bl      exit
