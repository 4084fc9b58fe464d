# SPDX-License-Identifier: MIT
#
# scheduler.S - each instruction and register of the hardware scheduler, executed by hart 0 while no
# other hart takes threads. A chip without the scheduler must not know the instructions.
    .include "test.inc"
    .include "scheduler.inc"
    .include "end.inc"

    # The last instruction has trapped. Changes t6.
    .macro trapped cause, value
    check   s10, \cause
    same    s11, \value
    li      s10, -1
    .endm

main:
    bnez    tp, pass
    la      t0, caught
    csrw    mtvec, t0
    li      s10, -1
    la      s0, room
    li      s9, CHIP
    lw      s9, QUEUE(s9)
    bnez    s9, exists

    .irp func3, 0,1,2,3,4,5,6,7
    .insn   r 0x0b, \func3, 0, x0, x8, x0
    check   s10, 2
    li      s10, -1
    .endr
    j       pass

exists:
    # encodings that mean nothing
    li      gp, 2
    .irp func7, 2, 3, 6, 8, 9, 10, 14, 16, 32
    .insn   r 0x0b, 2, \func7, t0, s0, x0
    check   s10, 2
    li      s10, -1
    .endr
    .irp func7, 3, 5, 6, 8, 9, 13, 14, 18, 20, 24, 32, 48
    .insn   r 0x0b, 3, \func7, x0, s0, t0
    check   s10, 2
    li      s10, -1
    .endr
    .insn   r 0x0b, 7, 3, t1, s0, x0
    check   s10, 2
    li      s10, -1

    # addresses
    li      gp, 3
    addi    t0, s0, 2
    ld.cfe  t1, t0
    trapped 6, t0
    st.full t1, t0
    trapped 6, t0
    addi    t0, s0, 32
    spill   t1, t0
    trapped 6, t0
    fill    t1, t0
    trapped 6, t0
    save    t0
    trapped 6, t0
    addi    t0, s0, 2
    ld.cfe.try t1, t0
    trapped 6, t0
    wait.full t1, t0, t0
    trapped 6, t0
    li      t0, LOCKS
    wait.empty t1, t0, t0
    trapped 7, t0
    ld.cff  t1, t0
    trapped 7, t0
    save    t0
    trapped 7, t0
    li      t0, 0x90000000
    st.cfe  t1, t0
    trapped 7, t0
    spill   t1, t0
    trapped 7, t0

    # Full/Empty: a line is empty at first; normal accesses do not look at its state
    li      gp, 4
    li      t0, 11
    sw      t0, 4(s0)
    st.cfe  t0, s0
    lw      t1, 0(s0)
    check   t1, 11
    lw      t1, 4(s0)
    check   t1, 11
    addi    t0, s0, 4               # the state is the line's
    ld.cff  t1, t0
    check   t1, 11
    ld.cff  t1, s0
    check   t1, 11
    ld.cfe  t1, s0
    check   t1, 11
    li      t0, 12
    st.cfe  t0, s0
    ld.cfe  t1, s0
    check   t1, 12
    li      t0, 13
    st.full t0, s0
    li      t0, 14
    st.full t0, s0
    ld.cff  t1, s0
    check   t1, 14
    li      t0, 15
    st.empty t0, s0
    lw      t1, 0(s0)
    check   t1, 15
    st.cfe  t0, s0
    li      t1, ALIAS
    add     t1, t1, s0
    ld.cfe  t2, t1                  # the same line, not cached
    check   t2, 15
    st.empty x0, s0

    # registers
    li      gp, 5
    li      s1, SCHEDULER
    li      t0, 0x12345
    sw      t0, THRESHOLD(s1)
    lw      t1, THRESHOLD(s1)
    check   t1, 0x2345
    sw      x0, THRESHOLD(s1)
    lw      t1, SPILLED(s1)
    check   t1, 0
    addi    s2, s1, 0x400
    la      t0, recruit
    sw      t0, 0(s2)
    lw      t1, 0(s2)
    same    t1, t0
    lw      t1, 0x18(s2)
    same    t1, s9

    # spawn until the RTU_LIFO is full
    li      gp, 6
    li      s3, 0
    li      a1, 77
1:  la      t0, never
    addi    a0, s3, 100
    spawn   t0
    addi    s3, s3, 1
    lw      t1, 0(s1)
    same    t1, s3
    bne     s3, s9, 1b
    check   s10, -1
    spawn   t0
    trapped 24, x0
    lw      t1, 0(s1)
    same    t1, s9

    # spill the youngest, and look at its context; then fill
    li      gp, 7
    spill   t1, s0
    check   t1, 1
    lw      t1, 0(s0)
    la      t2, never
    same    t1, t2
    lw      t1, 44(s0)
    check   t1, 77
    lw      t1, 40(s0)
    addi    t2, s9, 99
    same    t1, t2
    lw      t1, 8(s0)
    same    t1, sp
    li      t1, 2000
    sw      t1, 40(s0)
    fill    t1, s0
    check   t1, 1
    lw      t1, 4(s1)
    check   t1, 1
    lw      t1, 0(s1)
    addi    t2, s9, -1
    same    t1, t2

    # take: the RTU_LIFO and the RTU_FILLQ have their turns
    li      gp, 8
    li      s3, 0                   # of both
    li      s4, 0
    mv      s5, s9
1:  take    a0
    check   a1, 77                  # other registers stay
    li      t0, 2000
    bne     a0, t0, 2f
    addi    s3, s3, 1
    j       3f
2:  addi    a0, a0, -100
    add     s4, s4, a0
3:  addi    s5, s5, -1
    bnez    s5, 1b
    check   s3, 1
    addi    t0, s9, -1              # 0 + 1 + ... of the others
    addi    t1, s9, -2
    mul     t0, t0, t1
    srli    t0, t0, 1
    same    s4, t0

    # nothing is left
    li      gp, 9
    spill   t1, s0
    check   t1, 0
    lw      t1, 0(s1)
    check   t1, 0
    lw      t1, 4(s1)
    check   t1, 0

    # an interrupt ends `take`
    li      gp, 10
    li      t0, CLINT
    li      t1, 1
    sw      t1, 0(t0)
    li      t1, 8
    csrw    mie, t1
    li      a0, 1
    take    a0
    check   a0, 0
    sw      x0, 0(t0)
    lw      t1, 0(t0)

    # fill until the RTU_FILLQ is full, and take all in the same order
    li      gp, 11
    li      s3, 0
1:  sw      s3, 40(s0)
    fill    t1, s0
    check   t1, 1
    addi    s3, s3, 1
    bne     s3, s9, 1b
    fill    t1, s0
    check   t1, 0
    li      s3, 0
2:  take    a0
    same    a0, s3
    addi    s3, s3, 1
    bne     s3, s9, 2b

    # give until the RTU_FILLQ is full; `take.for` gets all in the same order, then waits in vain
    li      gp, 13
    li      t5, 1000
    li      s3, 0
1:  add     a0, s3, t5
    give    t1, a0
    check   t1, 1
    addi    s3, s3, 1
    lw      t1, 0x1c(s2)            # ready threads of all cores
    same    t1, s3
    bne     s3, s9, 1b
    give    t1, a0
    check   t1, 0
    li      s3, 0
2:  take.for a0, t5
    addi    t1, s3, 1000
    same    a0, t1
    addi    s3, s3, 1
    bne     s3, s9, 2b
    lw      t1, 0x1c(s2)
    check   t1, 0
    .irp limit, 0, 1, 300
    csrw    mie, x0
    li      t5, \limit
    li      a0, 1
    rdcycle s3
    take.for a0, t5
    rdcycle s4
    check   a0, 0
    sub     s4, s4, s3
    bltu    s4, t5, wrong
    .endr

    # an interrupt does not end it
    li      gp, 14
    li      t0, CLINT
    li      t1, 1
    sw      t1, 0(t0)
    li      t1, 8
    csrw    mie, t1
    li      t5, 100
    li      a0, 1
    rdcycle s3
    take.for a0, t5
    rdcycle s4
    check   a0, 0
    sub     s4, s4, s3
    bltu    s4, t5, wrong
    sw      x0, 0(t0)
    lw      t1, 0(t0)
    csrw    mie, x0
    check   s10, -1

    # conditional accesses that do not wait
    li      gp, 15
    st.empty x0, s0
    ld.cfe.try t1, s0
    check   t1, 0
    ld.cff.try t1, s0
    check   t1, 0
    li      t0, 21
    st.cfe.try t1, t0, s0
    check   t1, 1
    li      t0, 22
    st.cfe.try t1, t0, s0
    check   t1, 0
    ld.cff.try t1, s0
    check   t1, 21
    ld.cfe.try t1, s0
    check   t1, 21
    ld.cfe.try t1, s0
    check   t1, 0
    ld.cfe.kept t1, s0
    check   t1, 0

    # a word waits; the line is kept for it
    li      gp, 16
    li      t0, 31
    li      t5, 100
    li      s3, 77
    wait.empty t1, s3, s0           # it is empty
    check   t1, 0
    st.full.wakes t1, t0, s0
    check   t1, 0
    wait.full t1, s3, s0            # it is full
    check   t1, 0
    ld.cfe  t1, s0
    wait.full t1, s3, s0
    check   t1, 1
    lw      t1, IN_DTB(s1)
    check   t1, 1
    lw      t1, 0x1c(s2)
    check   t1, 0
    take.for a0, t5
    check   a0, 0
    st.full.wakes t1, t0, s0
    check   t1, 1
    lw      t1, 0x1c(s2)
    check   t1, 1
    ld.cfe.try t1, s0
    check   t1, 0
    ld.cff.try t1, s0
    check   t1, 0
    addi    s4, s3, 1
    wait.full t1, s4, s0            # a second word, though the line is full
    check   t1, 1
    take.for a0, t5
    same    a0, s3
    ld.cff.kept t1, s0              # and now it is kept for the second one
    check   t1, 31
    take.for a0, t5
    same    a0, s4
    ld.cfe.try t1, s0
    check   t1, 0
    ld.cfe.kept t1, s0
    check   t1, 31
    wait.full t1, s3, s0
    check   t1, 1
    st.full.wakes t1, t0, s0
    check   t1, 1
    st.empty.wakes t1, t0, s0       # faster than the word that has waited
    check   t1, 0
    take.for a0, t5
    same    a0, s3
    ld.cfe.kept t1, s0
    check   t1, 0
    st.cfe  t0, s0
    wait.empty t1, s4, s0
    check   t1, 1
    st.empty.wakes t1, t0, s0
    check   t1, 1
    st.cfe.try t1, t0, s0
    check   t1, 0
    take.for a0, t5
    same    a0, s4
    li      t0, 32
    st.cfe.kept t1, t0, s0
    check   t1, 1
    ld.cfe  t1, s0
    check   t1, 32
    lw      t1, IN_DTB(s1)
    check   t1, 0

    # until the DTB is full; the youngest is woken first
    li      gp, 17
    li      s3, 0
1:  addi    t1, s3, 500
    wait.full t1, t1, s0
    check   t1, 1
    addi    s3, s3, 1
    bne     s3, s9, 1b
    wait.full t1, s3, s0
    check   t1, 0
2:  st.full.wakes t1, t0, s0
    check   t1, 1
    take.for a0, t5
    addi    s3, s3, -1
    addi    t1, s3, 500
    same    a0, t1
    bnez    s3, 2b
    st.empty.wakes t1, t0, s0
    check   t1, 0
    lw      t1, IN_DTB(s1)
    check   t1, 0
    check   s10, -1

    # save: mepc and x1 to x15
    li      gp, 12
    li      t0, 0x80001234
    csrw    mepc, t0
    li      a5, 55
    save    s0
    lw      t1, 0(s0)
    same    t1, t0
    lw      t1, 60(s0)
    check   t1, 55
    lw      t1, 32(s0)
    same    t1, s0
    lw      t1, 12(s0)
    check   t1, 12
    check   s10, -1
    j       pass

wrong:
    j       fail
never:
    failed  250

    .balign 4
caught:
    csrr    s10, mcause
    csrr    s11, mtval
    csrr    t6, mepc
    addi    t6, t6, 4
    csrw    mepc, t6
    mret

    .section .bss
    .balign 64
room:
    .zero   128
