# SPDX-License-Identifier: MIT
#
# devices.S - the description of the chip, locks, timers' registers, the serial line's output.
    .include "test.inc"

main:
    li      s0, CHIP
    lw      t0, 0(s0)
    check   t0, 0x5049524e
    lw      t0, 12(s0)
    check   t0, 128*1024*1024
    harts   t0, t1
    bgeu    tp, t0, fail

    # a lock: 0 for the hart that gets it
    li      gp, 2
    li      s1, LOCKS
    slli    t0, tp, 2
    add     s2, s1, t0
    addi    s2, s2, 64              # one of its own
    lw      t0, 0(s2)
    check   t0, 0
    lw      t0, 0(s2)
    check   t0, 1
    sw      x0, 0(s2)
    lw      t0, 0(s2)
    check   t0, 0

    # one of all guards a sum
    li      gp, 3
    la      s3, shared
    li      s4, 25
1:  lw      t0, 0(s1)
    bnez    t0, 1b
    lw      t1, 0(s3)
    addi    t1, t1, 1
    sw      t1, 0(s3)
    fence
    sw      x0, 0(s1)
    addi    s4, s4, -1
    bnez    s4, 1b
    call    meet
    harts   t0, t1
    li      t1, 25
    mul     t0, t0, t1
    lw      t1, 0(s3)
    same    t0, t1

    # registers keep their values; time goes on
    li      gp, 4
    li      s0, CLINT+0x4000
    slli    t0, tp, 3
    add     s0, s0, t0
    li      t1, 0x12345678
    sw      t1, 4(s0)
    sw      t1, 0(s0)
    lw      t0, 0(s0)
    same    t0, t1
    lw      t0, 4(s0)
    same    t0, t1
    li      s0, CLINT+0xb000
    li      t1, 0xff8
    add     s0, s0, t1
    lw      t0, 0(s0)
    lw      t1, 0(s0)
    bgeu    t0, t1, fail

    # hart 0 writes a word; the others have waited
    li      gp, 5
    call    meet
    bnez    tp, done
    li      s0, UART
    la      s1, text
1:  lbu     t0, 0(s1)
    beqz    t0, done
    lbu     t1, 5(s0)
    andi    t1, t1, 0x20
    beqz    t1, fail
    sb      t0, 0(s0)
    addi    s1, s1, 1
    j       1b
done:
    j       pass

    .data
text:
    .asciz  "devices\n"
