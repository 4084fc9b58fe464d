/* SPDX-License-Identifier: MIT
 *
 * void floor_switch(void **from, void *to): x19-x29, the return address, d8-d15. The return by
 * br, not ret, as on x86-64.
 */
        .text
        .globl  floor_switch
        .hidden floor_switch
        .type   floor_switch, %function
        .p2align 5
floor_switch:
        stp     x29, x30, [sp, #-160]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x17, [sp], #160
        br      x17
        .size   floor_switch, . - floor_switch

/* void *floor_stack(void *top, void (*fn)(void)) */
        .globl  floor_stack
        .hidden floor_stack
        .type   floor_stack, %function
floor_stack:
        and     x0, x0, #-16
        sub     x0, x0, #160
        stp     xzr, x1, [x0]
        ret
        .size   floor_stack, . - floor_stack
        .section .note.GNU-stack, "", %progbits
