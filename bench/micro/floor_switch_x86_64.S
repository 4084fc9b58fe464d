/* SPDX-License-Identifier: MIT
 *
 * void floor_switch(void **from, void *to): 6 registers, and the return by pop and jmp, since a
 * ret would be mispredicted: it goes to another place than the last call came from.
 */
        .text
        .globl  floor_switch
        .hidden floor_switch
        .type   floor_switch, @function
        .p2align 5
floor_switch:
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        popq    %rcx
        jmp     *%rcx
        .size   floor_switch, . - floor_switch

/* void *floor_stack(void *top, void (*fn)(void)) */
        .globl  floor_stack
        .hidden floor_stack
        .type   floor_stack, @function
floor_stack:
        andq    $-16, %rdi
        movq    $0, -8(%rdi)            /* fn's return address, which also aligns its stack */
        movq    %rsi, -16(%rdi)         /* the address to which floor_switch jumps */
        leaq    -64(%rdi), %rax         /* 6 registers with any values */
        ret
        .size   floor_stack, . - floor_stack
        .section .note.GNU-stack, "", @progbits
