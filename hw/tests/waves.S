# SPDX-License-Identifier: MIT
#
# waves.S - the hardware scheduler's three ways to start a thread, one after the other, for pictures
# of its signals (`pirn bench figures waves`): a spawn; a thread that waits for a line, and is
# woken; a recruiting thread, and the thread that it brings back from memory. A core with two
# hardware threads: hart 0 executes this, hart 1 has no thread of its own.
#
# All run once without a picture's interest in them, so that their code is in the cache: ROUNDS - 1
# times.
    .include "test.inc"
    .include "scheduler.inc"
    .include "end.inc"
    .equ ROUNDS, 2

main:
    beqz    tp, 1f
    term
1:  la      s0, line
    la      s1, done
    li      s2, SCHEDULER
    li      s4, ROUNDS
    li      s5, 0                   # threads that have ended
    la      t0, recruiter
    li      t1, RECRUIT_PC
    add     t1, t1, s2
    sw      t0, 0(t1)
    li      t0, 1
    sw      t0, THRESHOLD(s2)

    # a spawn
round:
    li      gp, 1
    la      a0, child
    spawn   a0
    call    ended

    # A thread that waits until the line is full.
    li      gp, 2
    la      a0, waiter
    mv      a1, s0
    spawn   a0
    li      t1, IN_DTB
    add     t1, t1, s2
2:  lw      t0, 0(t1)
    beqz    t0, 2b
    li      t0, 7
    st.full t0, s0
    call    ended
    lw      t0, 4(s1)               # what it got
    check   t0, 7

    # A thread in memory.
    li      gp, 3
    la      a0, saved
    la      t0, child
    sw      t0, 0(a0)
    fence
    li      t0, 1
    sw      t0, SPILLED(s2)
    call    ended
    addi    s4, s4, -1
    bnez    s4, round
    passed

    # Waits until one more thread has ended, and then until hart 1 is idle.
ended:
    addi    s5, s5, 1
1:  lw      t0, 0(s1)
    bne     t0, s5, 1b
    li      t0, 64
2:  addi    t0, t0, -1
    bnez    t0, 2b
    ret

waiter:
    ld.cfe  a2, a1
    la      a3, done
    sw      a2, 4(a3)
    fence
child:
    la      a3, done
    li      a4, 1
    amoadd.w x0, a4, (a3)
    term

recruiter:
    la      a0, saved
    li      a1, SCHEDULER
    sw      x0, SPILLED(a1)
    fill    a2, a0
    term

    .section .bss
    .balign 64
saved:
    .zero   64
line:
    .zero   64
done:
    .zero   64
