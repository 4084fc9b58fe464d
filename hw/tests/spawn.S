# SPDX-License-Identifier: MIT
#
# spawn.S - hart 0 spawns COUNT threads, each of which does UNITS units of work, 10 instructions
# each. Every thread must run once, with the registers that it was given. With COND they also add to
# a word that only one at a time has: a conditional load takes it, a conditional store gives it
# back. Nobody has it before the first HELD threads are spawned, so they block. RTU and DTB overflow
# when they are small.
    .include "test.inc"
    .include "scheduler.inc"
    .include "end.inc"
    .ifndef COUNT
    .equ COUNT, 100
    .endif
    .ifndef UNITS
    .equ UNITS, 1
    .endif
    .ifndef COND
    .equ COND, 0
    .endif

    .equ HELD, 64

main:
    call    scheduler_start
    la      s0, word
    li      s1, 0
    la      tp, thread
    la      a1, runs
    la      a4, ended
1:  slli    a0, s1, 2
    add     a0, a0, a1              # its word of `runs`
    not     a2, s1
    slli    a3, s1, 7
    xor     a3, a3, s1
    mv      a5, s1
    spawn   tp
    addi    s1, s1, 1
    li      t0, HELD
    bne     s1, t0, 2f
    st.full zero, s0
2:  li      t0, COUNT
    bne     s1, t0, 1b
    term

thread:
    # its registers
    not     t0, a2
    bne     t0, s1, wrong
    bne     a5, s1, wrong
    slli    t0, s1, 7
    xor     t0, t0, s1
    bne     t0, a3, wrong
    slli    t0, s1, 2
    add     t0, t0, a1
    bne     t0, a0, wrong
    .if COND
    ld.cfe  t1, s0
    add     t1, t1, s1
    st.cfe  t1, s0
    bne     a5, s1, wrong
    bne     t0, a0, wrong
    .endif
    li      t0, UNITS
    mv      t1, s1
1:  slli    t2, t1, 13
    xor     t1, t1, t2
    srli    t2, t1, 17
    xor     t1, t1, t2
    slli    t2, t1, 5
    xor     t1, t1, t2
    addi    t1, t1, 1
    xor     t1, t1, a3
    addi    t0, t0, -1
    bnez    t0, 1b
    li      t0, 1
    amoadd.w t1, t0, (a0)
    bnez    t1, wrong               # it has run before
    amoadd.w t1, t0, (a4)
    li      t0, COUNT-1
    beq     t1, t0, last
    term
wrong:
    failed  1

last:
    li      t0, COUNT
    li      t2, 1
1:  lw      t1, 0(a1)
    beq     t1, t2, 2f
    failed  2
2:  addi    a1, a1, 4
    addi    t0, t0, -1
    bnez    t0, 1b
    .if COND
    lw      t0, 0(s0)
    li      t1, COUNT*(COUNT-1)/2
    beq     t0, t1, 3f
    failed  3
    .endif
3:  # no thread is left
    li      t0, SCHEDULER+0x400
    lw      t1, 4(t0)
    beqz    t1, 4f
    failed  4
4:  call    report
    passed

    # "RTU overflows, DTB overflows, recruiting threads, blocked", in hexadecimal digits
report:
    la      s1, memory_threads
    mv      a5, ra
    lw      a0, RTU_OVERFLOWS(s1)
    call    print
    lw      a0, DTB_OVERFLOWS(s1)
    call    print
    lw      a0, RECRUITED(s1)
    call    print
    li      a0, SCHEDULER+0x400
    lw      a0, 12(a0)
    call    print
    jr      a5
print:
    li      t0, UART
    li      t1, 32
1:  addi    t1, t1, -4
    srl     t2, a0, t1
    andi    t2, t2, 15
    li      a1, 10
    blt     t2, a1, 2f
    addi    t2, t2, 39
2:  addi    t2, t2, 48
    sb      t2, 0(t0)
    bnez    t1, 1b
    li      t1, 10
    sb      t1, 0(t0)
    ret

    .section .bss
    .balign 64
runs:
    .zero   4*COUNT
    .balign 16
word:
    .zero   16
ended:
    .zero   16
