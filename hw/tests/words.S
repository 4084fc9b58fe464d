# SPDX-License-Identifier: MIT
#
# words.S - words of software that wait in the DTB. Each of WORDS words is the address of a job; a
# hart that takes one goes on with it. A job takes the line `lock` ROUNDS times and counts, without
# atomic instructions, while it has it. If the line is empty, its word waits, or is given to the
# RTU_FILLQ, if the line has become full meanwhile or the DTB has no room. A wake-up that is lost
# leaves a job in the DTB for ever, and the program does not end.
    .include "test.inc"
    .include "scheduler.inc"
    .ifndef ROUNDS
    .equ ROUNDS, 30
    .endif
    .equ JOBS, 8                    # if the RTU_FILLQ has room for so many
    .equ LEFT, 0                    # of a job
    .equ WAITED, 4                  # its word waits, or has waited

main:
    la      s0, jobs
    la      s1, lock
    la      s2, count
    la      s3, left
    li      s4, 200                 # cycles of a look
    li      s7, SCHEDULER
    la      s8, woken
    bnez    tp, go_on

    li      s5, CHIP
    lw      s5, QUEUE(s5)
    li      t0, JOBS
    blt     s5, t0, 1f
    mv      s5, t0
1:  sw      s5, 0(s3)
    li      t0, ROUNDS
    mul     s6, s5, t0              # what they will have counted
    li      t1, 1
    st.full t1, s1
2:  sw      t0, LEFT(s0)
    give    t1, s0
    check   t1, 1
    addi    s0, s0, 16
    addi    s5, s5, -1
    bnez    s5, 2b

go_on:
    li      gp, 2
    fence
    lr.w    t0, (s3)
    beqz    t0, all_done
    take.for a0, s4
    beqz    a0, go_on
    lw      t0, WAITED(a0)
    beqz    t0, 1f
    sw      x0, WAITED(a0)
    ld.cfe.kept t1, s1
    li      gp, 3
    beqz    t1, fail                # nobody else takes a line that is kept
    j       2f
1:  ld.cfe.try t1, s1
    beqz    t1, waits
2:  lw      t0, 0(s2)
    addi    t0, t0, 1
    sw      t0, 0(s2)
    lw      t2, LEFT(a0)
    addi    t2, t2, -1
    sw      t2, LEFT(a0)
    fence
    st.full.wakes t0, t1, s1
    amoadd.w x0, t0, (s8)
    beqz    t2, ends
ready:
    li      gp, 4
    give    t1, a0
    beqz    t1, fail
    j       go_on
waits:
    li      t0, 1
    sw      t0, WAITED(a0)
    wait.full t1, a0, s1
    bnez    t1, go_on               # the job may run on another hart from now on
    sw      x0, WAITED(a0)
    j       ready
ends:
    li      t0, -1
    amoadd.w x0, t0, (s3)
    j       go_on

all_done:
    bnez    tp, pass
    li      gp, 5
    lw      t0, 0(s2)
    same    t0, s6
    li      gp, 6
    lw      t0, IN_DTB(s7)
    check   t0, 0
    li      gp, 7                   # of several harts some had to wait
    lw      t0, WAKES(s7)
    lw      t1, 0(s8)
    same    t0, t1
    harts   t1, t2
    li      t2, 1
    beq     t1, t2, pass
    beqz    t0, fail
    j       pass

    .data
    .balign 16
lock:
    .word   0
    .balign 16
count:
    .word   0
    .balign 16
left:
    .word   1
    .balign 16
woken:
    .word   0
    .balign 16
jobs:
    .zero   16 * JOBS
