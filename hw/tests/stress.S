# SPDX-License-Identifier: MIT
#
# stress.S - all harts change the same lines: with stores of all sizes to parts of their own, with
# atomic operations and reservations to parts of all. No part may lose a change.
    .include "test.inc"
    .ifndef ROUNDS
    .equ ROUNDS, 60
    .endif

    # 32 bytes, 32 halves, 32 words: a hart's is at its index.
    .equ BYTES, 0
    .equ HALVES, 32
    .equ WORDS, 96
    .equ SUMS, 224

main:
    la      s0, shared+AT
    slli    t0, tp, 1
    slli    t1, tp, 2
    add     s1, s0, tp              # byte
    add     s2, s0, t0
    addi    s2, s2, HALVES
    add     s3, s0, t1
    addi    s3, s3, WORDS
    addi    s4, s0, SUMS
    li      s5, ROUNDS
    li      s6, 0                   # the expected value of this hart's own parts
    slli    s8, tp, 8
    addi    s8, s8, 77              # state of the random numbers
round:
    lbu     t0, 0(s1)
    andi    t1, s6, 255
    bne     t0, t1, fail
    addi    t0, t0, 1
    sb      t0, 0(s1)
    lhu     t0, 0(s2)
    bne     t0, s6, fail
    addi    t0, t0, 1
    sh      t0, 0(s2)
    lw      t0, 0(s3)
    bne     t0, s6, fail
    addi    t0, t0, 1
    sw      t0, 0(s3)
    addi    s6, s6, 1
    # a neighbour's word must never go back
    slli    t0, s8, 13
    xor     s8, s8, t0
    srli    t0, s8, 17
    xor     s8, s8, t0
    slli    t0, s8, 5
    xor     s8, s8, t0
    andi    t0, s8, 31
    slli    t0, t0, 2
    add     t0, t0, s0
    lw      t1, WORDS(t0)
    lw      t2, WORDS(t0)
    bltu    t2, t1, fail
    # sums
    li      t0, 1
    amoadd.w x0, t0, (s4)
    addi    t1, s4, 4
1:  lr.w    t2, (t1)
    addi    t2, t2, 1
    sc.w    t3, t2, (t1)
    bnez    t3, 1b
    addi    t1, s4, 8
    amoxor.w x0, s8, (t1)
    xor     s7, s7, s8              # the sum of this hart's values
    andi    t0, s8, 64
    beqz    t0, 2f
    li      t1, ALIAS
    or      t1, t1, s3
    lw      t0, 0(t1)
    bne     t0, s6, fail
2:  addi    s5, s5, -1
    bnez    s5, round

    # this hart's sum is taken out again, so that zero is left
    li      gp, 2
    addi    t1, s4, 8
    amoxor.w x0, s7, (t1)
    call    meet
    li      s5, ROUNDS
    harts   t0, t1
    mul     t1, t0, s5
    lw      t2, 0(s4)
    same    t2, t1
    lw      t2, 4(s4)
    same    t2, t1
    lw      t2, 8(s4)
    check   t2, 0
    li      gp, 3
    mv      t3, s0
1:  lw      t2, WORDS(t3)
    same    t2, s5
    addi    t3, t3, 4
    addi    t0, t0, -1
    bnez    t0, 1b
    j       pass
