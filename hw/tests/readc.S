# SPDX-License-Identifier: MIT
#
# readc.S - hart 0 gets the host's input up to a newline by semihosting, byte by byte, and writes it
# to the serial line.
    .include "test.inc"

    .equ    READC, 7

main:
    bnez    tp, done
    li      s0, UART
    li      s1, 10
next:
    li      a0, READC
    li      a1, 0
    slli    x0, x0, 0x1f
    ebreak
    srai    x0, x0, 7
    sb      a0, 0(s0)
    bne     a0, s1, next
done:
    j       pass
