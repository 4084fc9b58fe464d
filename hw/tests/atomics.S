# SPDX-License-Identifier: MIT
#
# atomics.S - all atomic operations with corner values, and each way in which a conditional store
# can fail.
    .include "test.inc"

    .macro amo op, memory, operand, result
    li      t0, \memory
    sw      t0, 0(s0)
    li      t1, \operand
    \op     t2, t1, (s0)
    same    t2, t0
    lw      t2, 0(s0)
    check   t2, \result
    # one register for all, and none
    sw      t0, 0(s0)
    mv      t2, t1
    \op     t2, t2, (s0)
    same    t2, t0
    sw      t0, 0(s0)
    \op     x0, t1, (s0)
    lw      t2, 0(s0)
    check   t2, \result
    addi    gp, gp, 1
    .endm

main:
    addi    s0, sp, 64
    amo     amoswap.w, 0x11, 0x22, 0x22
    amo     amoadd.w, 0xffffffff, 2, 1
    amo     amoadd.w, 0x7fffffff, 1, 0x80000000
    amo     amoxor.w, 0xf0f0f0f0, 0xffff0000, 0x0f0ff0f0
    amo     amoand.w, 0xf0f0f0f0, 0xffff0000, 0xf0f00000
    amo     amoor.w, 0xf0f0f0f0, 0xffff0000, 0xfffff0f0
    amo     amomin.w, 0x80000000, 0x7fffffff, 0x80000000
    amo     amomin.w, 1, -1, -1
    amo     amomin.w, 5, 5, 5
    amo     amomax.w, 0x80000000, 0x7fffffff, 0x7fffffff
    amo     amomax.w, 1, -1, 1
    amo     amominu.w, 0x80000000, 0x7fffffff, 0x7fffffff
    amo     amominu.w, 1, -1, 1
    amo     amomaxu.w, 0x80000000, 0x7fffffff, 0x80000000
    amo     amomaxu.w, 1, -1, -1
    amo     amoadd.w.aq, 1, 1, 2
    amo     amoswap.w.rl, 1, 3, 3
    amo     amoor.w.aqrl, 1, 2, 3

    # pending stores come first
    li      gp, 40
    li      t0, 1
    sb      t0, 3(s0)
    sb      t0, 2(s0)
    sh      t0, 0(s0)
    li      t1, 1
    amoadd.w t2, t1, (s0)
    check   t2, 0x01010001

    # success
    li      gp, 41
    lr.w    t0, (s0)
    check   t0, 0x01010002
    li      t1, 9
    sc.w    t2, t1, (s0)
    check   t2, 0
    lw      t0, 0(s0)
    check   t0, 9
    # a second one fails, and stores nothing
    li      gp, 42
    li      t1, 10
    sc.w    t2, t1, (s0)
    check   t2, 1
    lw      t0, 0(s0)
    check   t0, 9
    # without a reservation of this line
    li      gp, 43
    lr.w    t0, (s0)
    addi    t3, s0, 16
    sc.w    t2, t1, (t3)
    check   t2, 1
    sc.w    t2, t1, (s0)            # and the reservation has ended
    check   t2, 1
    # another word of the line
    li      gp, 44
    lr.w    t0, (s0)
    addi    t3, s0, 4
    sc.w    t2, t1, (t3)
    check   t2, 0
    lw      t0, 4(s0)
    check   t0, 10
    # an own store to the line ends it; to another line it does not
    li      gp, 45
    lr.w    t0, (s0)
    sb      t1, 8(s0)
    sc.w    t2, t1, (s0)
    check   t2, 1
    lr.w    t0, (s0)
    sw      t1, 16(s0)
    sc.w    t2, t1, (s0)
    check   t2, 0
    # an own atomic operation ends it
    li      gp, 46
    lr.w    t0, (s0)
    amoadd.w x0, x0, (s0)
    sc.w    t2, t1, (s0)
    check   t2, 1
    # the last load counts
    li      gp, 47
    addi    t3, s0, 32
    lr.w    t0, (s0)
    lr.w    t0, (t3)
    sc.w    t2, t1, (s0)
    check   t2, 1
    lr.w    t0, (s0)
    lr.w    t0, (t3)
    sc.w    t2, t1, (t3)
    check   t2, 0
    # loads do not end it, nor do traps
    li      gp, 48
    la      t3, skip
    csrw    mtvec, t3
    lr.w    t0, (s0)
    lw      t0, 0(s0)
    ecall
    sc.w    t2, t1, (s0)
    check   t2, 0
    la      t3, unexpected
    csrw    mtvec, t3

    # another hart's store, conditional store and atomic operation end it. Hart 0 reserves.
    li      gp, 49
    harts   s1, t3
    li      t3, 1
    beq     s1, t3, done
    la      s2, shared+AT
    li      s3, 0
others:
    call    meet
    bnez    tp, 1f
    lr.w    s4, (s2)
1:  call    meet
    li      t3, 1
    bne     tp, t3, 2f
    beqz    s3, store
    beq     s3, t3, atomic
again:
    lr.w    t0, (s2)
    sc.w    t2, t0, (s2)
    bnez    t2, again
    j       2f
store:
    sb      tp, 12(s2)
    j       2f
atomic:
    amoor.w x0, x0, (s2)
2:  fence
    call    meet
    bnez    tp, 3f
    sc.w    t2, s4, (s2)
    check   t2, 1
    # one after which nobody has changed anything
    lr.w    s4, (s2)
3:  call    meet
    lw      t2, 4(s2)
    call    meet
    bnez    tp, 4f
    sc.w    t2, s4, (s2)
    check   t2, 0
4:  addi    s3, s3, 1
    li      t3, 3
    bne     s3, t3, others

    # all harts add to one word, some of them by reservations
    li      gp, 50
    li      s3, 40
    la      s2, shared+64+AT
    li      s4, 1
count:
    amoadd.w x0, s4, (s2)
    addi    t4, s2, 4
1:  lr.w    t0, (t4)
    addi    t0, t0, 1
    sc.w    t1, t0, (t4)
    bnez    t1, 1b
    addi    s3, s3, -1
    bnez    s3, count
    call    meet
    li      t0, 40
    mul     t0, t0, s1
    lw      t1, 0(s2)
    same    t1, t0
    lw      t1, 4(s2)
    same    t1, t0
done:
    j       pass

    .balign 4
skip:
    csrr    t3, mepc
    addi    t3, t3, 4
    csrw    mepc, t3
    mret
