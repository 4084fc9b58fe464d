# SPDX-License-Identifier: MIT
#
# traps.S - control registers, and every exception: cause, value, pc, and that nothing else changed.
    .include "test.inc"

    # The next instruction must trap. s11 counts traps; s8 to s10 are cause, value and pc.
    .macro traps cause
    la      s7, 7771f
    li      s8, -1
7771:
    .endm
    .macro trapped cause
    check   s8, \cause
    same    s10, s7
    addi    gp, gp, 1
    .endm

main:
    # registers with fixed values
    csrr    t0, misa
    check   t0, 0x40001101
    csrr    t0, mhartid
    same    t0, tp
    csrr    t0, mvendorid
    check   t0, 0
    csrr    t0, marchid
    csrr    t0, mimpid
    csrr    t0, mip
    csrw    misa, x0
    csrr    t0, misa
    check   t0, 0x40001101
    # registers that can be written
    li      gp, 2
    li      t0, 0x12345678
    csrrw   t1, mscratch, t0
    check   t1, 0
    csrrs   t1, mscratch, x0
    same    t1, t0
    li      t2, 0xf
    csrrs   t1, mscratch, t2
    same    t1, t0
    csrrc   t1, mscratch, t2
    check   t1, 0x1234567f
    csrrwi  t1, mscratch, 21
    check   t1, 0x12345670
    csrrsi  t1, mscratch, 10
    check   t1, 21
    csrrci  t1, mscratch, 1
    check   t1, 31
    csrrw   x0, mscratch, t0
    csrr    t1, mscratch
    same    t1, t0
    csrrw   t0, mscratch, t0        # one register for both
    check   t0, 0x12345678
    li      gp, 3
    li      t0, -1
    csrw    mstatus, t0
    csrr    t1, mstatus
    check   t1, 0x1888
    csrw    mstatus, x0
    csrr    t1, mstatus
    check   t1, 0x1800
    csrw    mie, t0
    csrr    t1, mie
    check   t1, 0x888
    csrw    mie, x0
    csrr    t2, mtvec
    csrw    mtvec, t0
    csrr    t1, mtvec
    check   t1, 0xfffffffc
    csrw    mtvec, t2
    csrw    mepc, t0
    csrr    t1, mepc
    check   t1, 0xfffffffc
    csrw    mcause, t0
    csrr    t1, mcause
    same    t1, t0
    csrw    mtval, t0
    csrr    t1, mtval
    same    t1, t0
    # counters count
    li      gp, 4
    csrr    t0, minstret
    nop
    nop
    csrr    t1, minstret
    sub     t1, t1, t0
    check   t1, 3
    csrr    t0, cycle
    csrr    t1, time
    bltu    t1, t0, fail
    csrr    t0, mcycleh
    csrr    t0, instreth
    csrr    t0, timeh

    # and can be written: the next instruction reads what was written
    li      gp, 5
    csrwi   minstret, 0
    csrr    t0, minstret
    csrr    t1, instret
    check   t0, 0
    check   t1, 1
    li      t1, -1
    csrw    minstret, t1
    csrw    minstreth, t1
    nop                             # its end makes it 0
    csrr    t0, minstret
    check   t0, 0
    csrr    t0, minstreth
    check   t0, 0
    li      t1, 3
    csrw    minstreth, t1
    csrs    minstret, t1
    csrr    t0, minstreth
    check   t0, 3
    li      gp, 6
    csrr    s0, time
    li      t1, 0x12345678
    csrw    mcycleh, t1
    csrr    t0, cycleh
    same    t0, t1
    csrw    mcycle, x0
    csrr    t0, cycle
    csrr    t1, mcycle
    bltu    t1, t0, fail
    li      t2, 10000
    bgeu    t1, t2, fail
    csrr    t0, mcycleh
    li      t1, 0x12345678
    same    t0, t1
    csrr    s1, time                # the time goes on
    bltu    s1, s0, fail
    sub     s1, s1, s0
    bgeu    s1, t2, fail

    # exceptions
    la      t0, handler
    csrw    mtvec, t0
    li      s11, 0
    li      gp, 10
    traps
    ecall
    trapped 11
    check   s9, 0
    traps
    ebreak
    trapped 3
    same    s9, s7
    traps
    .word   0
    trapped 2
    check   s9, 0
    traps
    .word   0xffffffff
    trapped 2
    check   s9, 0xffffffff
    # 16-bit code, unknown functions, control registers that are not there or cannot be written
    .macro illegal word
    traps
    .word   \word
    trapped 2
    check   s9, \word
    .endm
    li      gp, 14
    illegal 0x00000001
    illegal 0x0000707f
    illegal 0x00001067              # jalr, func3 1
    illegal 0x00002063              # branch, func3 2
    illegal 0x00003003              # ld
    illegal 0x00006003              # lwu
    illegal 0x00003023              # sd
    illegal 0x02001013              # slli by 32
    illegal 0x40001013
    illegal 0x20005013
    illegal 0x04000033
    illegal 0x40001033
    illegal 0x42000033
    illegal 0x1000302f              # lr.d
    illegal 0x1010202f              # lr.w with rs2
    illegal 0x2800202f
    illegal 0x0000300f              # fence, func3 3
    illegal 0x0030200f              # an unknown operation on lines
    illegal 0x10200073              # sret
    illegal 0x7b200073              # dret
    illegal 0x00004073
    illegal 0x000020f3              # csrrs x1, ustatus
    illegal 0xf1401073              # csrrw x0, mhartid
    illegal 0xf140e073              # csrrsi x0, mhartid, 1
    illegal 0xc0001073              # csrrw x0, cycle

    li      gp, 50
    # addresses: misaligned, nothing there
    .macro access op, at, cause
    li      t0, \at
    li      t2, 0x77
    traps
    \op     t2, 0(t0)
    trapped \cause
    same    s9, t0
    check   t2, 0x77
    .endm
    access  lw, 0x80000001, 4
    access  lw, 0x80000002, 4
    access  lh, 0x80000003, 4
    access  lhu, 0x80000001, 4
    access  sw, 0x80000002, 6
    access  sh, 0x80000001, 6
    access  lw, 0x10000001, 4
    access  lw, 0x00000000, 5
    access  lb, 0x40000000, 5
    access  lw, 0xbffffffc, 5
    access  lw, 0xfffffffc, 5
    access  sw, 0x00000000, 7
    access  sb, 0x7fffffff, 7
    access  sw, 0xfffffff0, 7
    .macro atomic op, at, cause
    li      t0, \at
    li      t2, 0x77
    traps
    \op     t2, t2, (t0)
    trapped \cause
    same    s9, t0
    check   t2, 0x77
    .endm
    atomic  amoadd.w, 0x80000002, 6
    atomic  amoswap.w, 0x02000000, 7
    atomic  sc.w, 0x80000001, 6
    atomic  sc.w, 0x00000004, 7
    li      t0, 0x80000002
    traps
    lr.w    t2, (t0)
    trapped 4
    li      t0, 0x02000000
    traps
    lr.w    t2, (t0)
    trapped 5
    li      t0, 0x00000040
    traps
    flush_line t0
    trapped 7

    # jumps to an odd half: the jump traps, and does not write its register
    li      gp, 80
    la      t0, 1f+2
    li      t1, 0x55
    traps
    jalr    t1, t0, 0
    trapped 0
    same    s9, t0
    check   t1, 0x55
1:  traps
    .word   0x0020006f              # jal x0, +2
    trapped 0
    traps
    .word   0x00000163              # beq x0, x0, +2
    trapped 0
    beq     x0, ra, 1f
1:  .word   0x00001163              # bne x0, x0, +2: not taken
    # jalr ignores the lowest bit
    la      t0, 2f+1
    jalr    t1, t0, 0
    j       fail
2:  # nothing to execute: pc is the target
    li      gp, 90
    la      s5, 3f
    li      t0, 0x40000000
    jr      t0
    j       fail
3:  check   s8, 1
    same    s9, t0
    same    s10, t0

    # a trap disables interrupts, and mret enables them again
    li      gp, 91
    li      s5, 0
    csrw    mie, x0
    csrsi   mstatus, 8
    ecall
    csrr    t0, mstatus
    check   t0, 0x1888
    check   s6, 0x1880
    csrci   mstatus, 8
    ecall
    csrr    t0, mstatus
    check   t0, 0x1880
    check   s6, 0x1800
    # traps right after slow instructions, and right before them
    li      gp, 92
    lw      t0, 1024(sp)
    ecall
    div     t0, sp, gp
    ecall
    mul     t0, sp, gp
    ebreak
    amoadd.w t0, gp, (sp)
    .word   0
    sw      t0, 4(sp)
    ecall
    lw      t1, 4(sp)
    same    t1, t0
    j       pass

    # Goes on after the instruction, or at s5.
    .balign 4
handler:
    csrr    s8, mcause
    csrr    s9, mtval
    csrr    s10, mepc
    csrr    s6, mstatus
    addi    s11, s11, 1
    addi    a7, s10, 4
    beqz    s5, 1f
    mv      a7, s5
1:  csrw    mepc, a7
    mret
