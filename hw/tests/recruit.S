# SPDX-License-Identifier: MIT
#
# recruit.S - what a thread must not leave to the next one: a recruiting thread that blocks, a woken
# thread that traps, a thread that ends after a load-reserved. Needs two hardware threads
# in core 0, hart 1 for the threads.
    .include "test.inc"
    .include "scheduler.inc"
    .include "end.inc"
    .equ BLOCKING, 3                # recruiting threads that block

    .macro until reg, at, value     # the word at `at` is `value`
1980: lw    \reg, 0(\at)
    addi    \reg, \reg, -(\value)
    bnez    \reg, 1980b
    .endm

main:
    li      t0, 1
    bgtu    tp, t0, 1f              # only harts 0 and 1 take part
    la      t0, trapped
    csrw    mtvec, t0
    beqz    tp, 2f
    term
1:  wfi
    j       1b

    # A recruiting thread that blocks is an ordinary thread from then on, so others follow it.
2:  li      gp, 1
    la      s0, line
    la      s1, calls
    li      s2, SCHEDULER
    addi    s3, s2, 0x400
    la      t0, recruiter
    sw      t0, 0(s3)
    li      t0, 1
    sw      t0, THRESHOLD(s2)
    sw      t0, SPILLED(s2)
    addi    t1, s3, 4               # threads in the DTB
    until   t2, t1, BLOCKING
    sw      x0, SPILLED(s2)
    li      s4, 0                   # this thread uses more than x1 to x15, so it must not block
3:  addi    s4, s4, 1
    st.full s4, s0
4:  lw      t1, 4(s1)
    bne     t1, s4, 4b
    li      t1, BLOCKING
    bne     s4, t1, 3b
    lw      t1, 8(s1)               # the sum of what they got
    check   t1, BLOCKING*(BLOCKING+1)/2
    lw      t1, 0(s1)
    lw      t2, 0x14(s3)            # recruiting threads, with those that have ended at once
    blt     t2, t1, fail

    # A thread is woken for an access that is not there any more: it traps, and is an ordinary one
    # again.
    li      gp, 2
    la      a0, victim
    la      a1, line+16
    la      a2, line+32
    li      t0, 5
    st.full t0, a2
    spawn   a0
    addi    t1, s3, 4
    until   t2, t1, 1
    la      t0, access
    li      t1, 0x0000000b + (2 << 25) + (2 << 12)  # a conditional load that does not exist
    sw      t1, 0(t0)
    fence.i
    li      t0, 1
    st.cfe  t0, a1
    addi    t1, s1, 12
    until   t2, t1, 1

    # A store-conditional does not get the reservation of the thread that had its hart before.
    li      gp, 3
    la      a0, linker
    spawn   a0
    addi    t1, s1, 16
    until   t2, t1, 1
    la      a0, storer
    spawn   a0
    until   t2, t1, 2
    passed

recruiter:
    la      a0, calls
    li      a1, 1
    amoadd.w a2, a1, (a0)
    li      a3, BLOCKING
    bge     a2, a3, more
    la      a4, line
    ld.cfe  a5, a4
    addi    a3, a0, 8
    amoadd.w x0, a5, (a3)
    addi    a3, a0, 4
    amoadd.w x0, a1, (a3)
    term
more:
    li      a1, -1
    amoadd.w x0, a1, (a0)           # not counted
    term

victim:
access:
    ld.cfe  t0, a1
    ld.cff  t0, a2                  # not marked as that of a woken thread
    li      t1, 5
    bne     t0, t1, fail
    la      t0, calls+12
    li      t1, 1
    amoadd.w x0, t1, (t0)
    term

linker:
    la      a1, line+48
    lr.w    a2, (a1)
    la      t0, calls+16
    li      t1, 1
    sw      t1, 0(t0)
    fence
    term
storer:
    la      a1, line+48
    sc.w    a2, t1, (a1)
    beqz    a2, fail
    la      t0, calls+16
    li      t1, 2
    sw      t1, 0(t0)
    term

    .balign 4
trapped:
    csrr    a6, mcause
    li      a7, 2
    bne     a6, a7, unexpected
    csrr    a6, mepc
    la      a7, access
    bne     a6, a7, unexpected
    addi    a6, a6, 4
    csrw    mepc, a6
    mret

    .section .bss
    .balign 64
line:
    .zero   64
calls:
    .zero   64
