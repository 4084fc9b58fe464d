# SPDX-License-Identifier: MIT
#
# interrupts.S - those of software, of timers and of devices: arrival, masking, priority, sleep, and
# that an interrupt loses no instruction. Harts do it one after the other.
    .include "test.inc"

main:
    la      t0, handler
    csrw    mtvec, t0
    li      s0, CLINT
    slli    t0, tp, 2
    add     s0, s0, t0              # msip of this hart
    li      s1, CLINT+0x4000
    slli    t0, tp, 3
    add     s1, s1, t0              # its mtimecmp
    li      t0, CHIP
    lw      s9, 16(t0)              # latency
    slli    s10, s9, 4
    addi    s10, s10, 400           # longer than it takes to go to sleep
    slli    s9, s9, 2
    la      s2, shared
turn:
    lw      t0, 0(s2)
    bne     t0, tp, turn

    # nothing is pending, wfi must not be tried
    csrr    t0, mip
    check   t0, 0
    # software: pending, masked by mie, then by mstatus
    li      gp, 2
    li      t0, 1
    sw      t0, 0(s0)
    fence
    csrr    t0, mip
    check   t0, 8
    csrsi   mie, 8
    li      s5, 0
    nop
    nop
    check   s5, 0
    wfi                             # goes on at once: it is pending, though not taken
    csrsi   mstatus, 8
    nop
    check   s5, 1
    check   s6, 0x80000003
    csrr    t0, mip
    check   t0, 0
    csrr    t0, mstatus
    check   t0, 0x1888

    # timer, asleep
    li      gp, 3
    li      s5, 0
    li      t0, 0x80
    csrs    mie, t0
    call    timer
    wfi
    nop
    check   s5, 1
    check   s6, 0x80000007
    # asleep with interrupts disabled: goes on behind wfi, without a trap
    li      gp, 4
    csrci   mstatus, 8
    call    timer
    wfi
    check   s5, 1
    csrr    t0, mip
    andi    t0, t0, 0x80
    check   t0, 0x80
    csrsi   mstatus, 8
    nop
    check   s5, 2

    # a device: the alarm, source 11 of the PLIC
    li      gp, 5
    li      s5, 0
    li      t0, PLIC
    li      t1, 1
    sw      t1, 44(t0)              # priority
    li      t1, 0x800
    li      t2, PLIC+0x2000
    slli    t3, tp, 8
    add     t2, t2, t3
    sw      t1, 0(t2)               # enabled for this hart
    li      s3, PLIC+0x200000
    slli    t3, tp, 13
    add     s3, s3, t3
    sw      x0, 0(s3)               # threshold
    csrs    mie, t1                 # bit 11, too
    li      t0, CHIP
    sw      s10, 24(t0)
    wfi
    nop
    check   s5, 1
    check   s6, 0x8000000b
    check   s7, 11

    # all three at once: device, software, timer
    li      gp, 6
    csrci   mstatus, 8
    li      s5, 0
    li      s8, 0
    li      t0, CHIP
    li      t1, 1
    sw      t1, 24(t0)
    li      t0, 1
    sw      t0, 0(s0)
    call    timer
    li      t1, 0x888
1:  csrr    t0, mip
    bne     t0, t1, 1b
    csrsi   mstatus, 8
    nop
    nop
    check   s5, 3
    check   s8, 0xb37               # in this order
    # masked by the threshold
    li      gp, 7
    li      s5, 0
    li      t0, 1
    sw      t0, 0(s3)
    li      t0, CHIP
    li      t1, 1
    sw      t1, 24(t0)
    li      t0, 500
1:  addi    t0, t0, -1
    bnez    t0, 1b
    check   s5, 0
    sw      x0, 0(s3)
    fence
    csrr    t0, mip
    nop
    nop
    check   s5, 1

    # a timer every few cycles, over instructions of all kinds: the sums come out right
    li      gp, 8
    li      s4, 61                  # period, counted down in the handler
    li      s5, 0
    call    timer
    li      a0, 0
    li      a1, 0
    li      a2, 200
    addi    a3, sp, 128
loop:
    addi    a0, a0, 3
    sw      a0, 0(a3)
    lw      a4, 0(a3)
    bne     a4, a0, fail
    addi    a4, a3, 4
    amoadd.w x0, a2, (a4)
    mul     a4, a0, a2
    divu    a4, a4, a2
    bne     a4, a0, fail
    li      a5, ALIAS
    add     a5, a5, a3
    lw      a4, 0(a5)
    bne     a4, a0, fail
    addi    a1, a1, 5
    addi    a2, a2, -1
    bnez    a2, loop
    check   a0, 600
    check   a1, 1000
    li      t0, 3
    bltu    s5, t0, fail            # there have been some
    csrw    mie, x0
    csrw    mstatus, x0

    # the next hart, woken from its sleep by this one where there is one
    li      gp, 9
    sw      x0, 0(s3)
    li      t2, PLIC+0x2000
    slli    t3, tp, 8
    add     t2, t2, t3
    sw      x0, 0(t2)
    addi    t0, tp, 1
    fence
    sw      t0, 0(s2)
    j       pass

    # The timer is due soon.
timer:
    li      t0, -1
    sw      t0, 4(s1)
    li      t1, CLINT+0xbff8
    lw      t2, 0(t1)
    add     t2, t2, s10
    sw      t2, 0(s1)
    sw      x0, 4(s1)
    ret

    .balign 4
handler:
    csrr    s6, mcause
    addi    s5, s5, 1
    andi    t4, s6, 15
    slli    s8, s8, 4
    or      s8, s8, t4
    li      t5, 3
    beq     t4, t5, soft
    li      t5, 7
    beq     t4, t5, time
    lw      s7, 4(s3)               # claim
    sw      s7, 4(s3)               # complete
    j       back
soft:
    sw      x0, 0(s0)
    j       back
time:
    beqz    s4, off
    li      t4, CLINT+0xbff8
    lw      t5, 0(t4)
    add     t5, t5, s4
    add     t5, t5, s9
    addi    s4, s4, 7
    andi    s4, s4, 255
    ori     s4, s4, 64
    sw      t5, 0(s1)
    j       back
off:
    li      t4, -1
    sw      t4, 4(s1)
back:
    mret
