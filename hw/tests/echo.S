# SPDX-License-Identifier: MIT
#
# echo.S - hart 0 reads the serial line up to a newline, by interrupts, and writes it in capitals.
    .include "test.inc"

main:
    bnez    tp, done
    li      s0, UART
    li      s1, PLIC
    li      t0, 1
    sw      t0, 40(s1)              # priority of source 10
    li      t0, 0x400
    li      t1, PLIC+0x2000
    sw      t0, 0(t1)
    li      s2, PLIC+0x200000
    sw      x0, 0(s2)
    li      t0, 1
    sb      t0, 1(s0)               # interrupts of the receiver
    li      t0, 0x800
    csrw    mie, t0
    li      s3, 10
next:
    wfi
    lw      t0, 4(s2)
    check   t0, 10
    lbu     a0, 0(s0)
    sw      t0, 4(s2)
    li      t0, 97
    bltu    a0, t0, 1f
    addi    a0, a0, -32
1:  sb      a0, 0(s0)
    bne     a0, s3, next
done:
    j       pass
