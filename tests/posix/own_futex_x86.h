/* SPDX-License-Identifier: MIT */
/*
 * own_futex_x86.h (x86-64) - for own_futex.c: functions that make the system call futex, which have
 * the room for a jump in different places.
 */
#ifndef TESTS_OWN_FUTEX_X86_H
#define TESTS_OWN_FUTEX_X86_H

/* Before the code of each function: to where system calls have the fourth argument. */
#define FUNCTION_BEGINS "movq %rcx, %r10\n\t"

/* The instruction before the call can move. */
FUNCTION(constant, "movl $202, %eax\n\t"
                   "constant_call:\n\t"
                   "syscall");
int32_t futex_number = SYS_futex;
FUNCTION(loaded, "movl futex_number(%rip), %eax\n\t"
                 "syscall");

/* There is room behind the function. */
FUNCTION(behind, "movl $202, %r11d\n\t"
                 "movl %r11d, %eax\n\t"
                 "syscall");

/* In a NOP. */
FUNCTION(in_nop, "movl $202, %r11d\n\t"
                 ".byte 0x0f, 0x1f, 0x80, 0, 0, 0, 0\n\t"
                 "movl %r11d, %eax\n\t"
                 "syscall\n\t"
                 ".fill 150, 1, 0xfc"); /* cld */

/* Too far away for one jump of 2 bytes. */
FUNCTION(far_away, ".fill 150, 1, 0xfc\n\t"
                   "movl $202, %r11d\n\t"
                   "movl %r11d, %eax\n\t"
                   "syscall\n\t"
                   ".fill 100, 1, 0xfc\n\t"
                   ".byte 0x0f, 0x1f, 0x40, 0\n\t" /* a NOP */
                   ".fill 100, 1, 0xfc");

/* Other code jumps to the call, so the instruction before it must stay. */
FUNCTION(entered, "movl $202, %eax\n"
                  "entered_call:\n\t"
                  "syscall");
FUNCTION(makes_getpid, "movl $39, %eax\n\t"
                       "jmp entered_call");

/* Checks what a system call must leave as it is: argument registers, vector registers, 128 bytes
 * below the stack pointer. Returns 0 if that is so. */
FUNCTION(keeps, "movabsq $0x1122334455667788, %rax\n\t"
                "movq %rax, %xmm9\n\t"
                "movq %rax, -8(%rsp)\n\t"
                "movq %rax, -128(%rsp)\n\t"
                "movq %rax, %r8\n\t"
                "movq %rdi, %r9\n\t"
                "movl $202, %eax\n\t"
                "syscall\n\t"
                "movq %xmm9, %rax\n\t"
                "xorq %r8, %rax\n\t"
                "xorq %rdi, %r9\n\t"
                "orq %r9, %rax\n\t"
                "movq -8(%rsp), %rcx\n\t"
                "xorq %r8, %rcx\n\t"
                "orq %rcx, %rax\n\t"
                "movq -128(%rsp), %rcx\n\t"
                "xorq %r8, %rcx\n\t"
                "orq %rcx, %rax");

extern const uint8_t constant_call[];
static const uint8_t system_call[] = {0x0f, 0x05};

#define OWN_FUTEX_WAYS constant, loaded, behind, in_nop, far_away, entered

#endif
