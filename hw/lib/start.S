# SPDX-License-Identifier: MIT
#
# start.S - the start of a C program on the hardware scheduler. Hart 0 calls main() with a stack of
# 4 KiB (link.ld); the other harts wait for threads. The value of main() is the program's exit
# status, 0 to 255. Any trap but those of overflow ends the program with status 251.
    .equ EXIT, 0x00100000
    .equ LOCKS, 0x12000000
    .equ CHIP, 0x14000000

    .option norvc
    .option norelax
    .section .text.start, "ax"
    .globl _start
_start:
    .irp r, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    li      x\r, 0
    .endr
    csrr    tp, mhartid
    call    scheduler_start
    la      sp, own + 4096
    call    main
    j       leave

    .balign 4
unexpected:
    li      a0, 251
leave:
    li      t0, EXIT
    li      t1, 0x5555
    beqz    a0, 1f
    li      t1, 0x3333
    slli    a0, a0, 16
    or      t1, t1, a0
1:  sw      t1, 0(t0)
2:  j       2b

    .include "scheduler.inc"
