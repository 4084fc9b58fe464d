# SPDX-License-Identifier: MIT
#
# slow.S - cores that issue an instruction only every so many cycles. Each hart reads what the chip
# says of its core, and measures that by a loop of 1000 instructions, which is in its cache.
#
#   PAUSES  four bits for each core: cycles without an instruction after each one
    .include "test.inc"

    .ifndef PAUSES
    .equ PAUSES, 0
    .endif

main:
    # the description: a word for each core; 0 for cores that there are not
    li      s0, CHIP
    lw      s1, 4(s0)               # cores
    lw      s2, 8(s0)               # threads of each
    addi    s0, s0, 0x40
    li      s3, PAUSES
    li      s4, 0
1:  lw      t0, 0(s0)
    li      t1, 0
    bgeu    s4, s1, 2f
    andi    t1, s3, 15
    addi    t1, t1, 1
2:  same    t0, t1
    srli    s3, s3, 4
    addi    s0, s0, 4
    addi    s4, s4, 1
    li      t1, 8
    bltu    s4, t1, 1b

    # this core's
    li      gp, 2
    divu    t0, tp, s2
    slli    t0, t0, 2
    li      s0, CHIP+0x40
    add     s0, s0, t0
    lw      s5, 0(s0)
    li      s6, 2                   # the first time fills the cache
    call    meet
again:
    csrr    s7, mcycle
    li      t0, 100
1:  .rept   8
    addi    t1, t1, 1
    .endr
    addi    t0, t0, -1
    bnez    t0, 1b
    csrr    s8, mcycle
    sub     s8, s8, s7
    addi    s6, s6, -1
    bnez    s6, again

    # not faster than that; at most half slower, where all threads of the core run
    li      t0, 1000
    mul     t0, t0, s5
    bltu    s8, t0, fail
    li      gp, 3
    mul     t0, t0, s2
    srli    t1, t0, 1
    add     t0, t0, t1
    bltu    t0, s8, fail
    j       pass
