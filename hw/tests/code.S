# SPDX-License-Identifier: MIT
#
# code.S - programs that write instructions: fence.i makes them seen, by this hart and, when they
# execute it, too, by the others.
    .include "test.inc"

main:
    # own code, in own memory: `li a0, n; ret`, again and again, through the cache's sets
    li      s0, 0
    li      s1, 20
    addi    s2, sp, 1024
1:  slli    t0, s0, 20
    li      t1, 0x00000513          # addi a0, x0, 0
    or      t0, t0, t1
    sw      t0, 0(s2)
    li      t1, 0x00008067          # ret
    sw      t1, 4(s2)
    fence.i
    jalr    s2
    same    a0, s0
    addi    s0, s0, 1
    bne     s0, s1, 1b

    # the instruction behind fence.i itself
    li      gp, 2
    la      t0, patch
    slli    t1, tp, 4
    add     t0, t0, t1
    li      t1, 0x00100513          # addi a0, x0, 1
    sw      t1, 0(t0)
    li      a0, 0
    fence.i
    jr      t0
back:
    check   a0, 1

    # code of all: hart 0 writes, all execute
    li      gp, 3
    li      s0, 0
    la      s2, shared+256
    la      s3, shared+256+AT
round:
    bnez    tp, 2f
    slli    t0, s0, 20
    li      t1, 0x00000513
    or      t0, t0, t1
    sw      t0, 0(s3)
    li      t1, 0x00008067
    sw      t1, 4(s3)
    fence
2:  call    meet
    fence.i
    jalr    s2
    same    a0, s0
    call    meet
    addi    s0, s0, 1
    li      t0, 10
    bne     s0, t0, round
    j       pass

    .balign 16
patch:
    .rept 32
    .word   0                       # becomes addi a0, x0, 1
    j       back
    nop
    nop
    .endr
