# SPDX-License-Identifier: MIT
#
# memory.S - loads and stores of all sizes at all places, forwarding from the store buffer, the
# uncached alias, and operations on lines.
    .include "test.inc"

    # A store of each size at each place of a word that is 0x44332211 before; then the word.
    .macro stores op, at, expected
    li      t0, 0x44332211
    sw      t0, 32(sp)
    li      t1, 0xdeadbeef
    \op     t1, 32+\at(sp)
    lw      t2, 32(sp)
    check   t2, \expected
    fence
    lw      t2, 32(sp)
    check   t2, \expected
    .endm

    .macro loads op, at, expected
    \op     t2, 64+\at(sp)
    check   t2, \expected
    .endm

main:
    # sizes and places, with and without sign
    li      t0, 0x807f017e
    sw      t0, 64(sp)
    li      t0, 0xff80fe81
    sw      t0, 68(sp)
    .rept 2                         # out of the store buffer, then out of the cache
    loads   lb, 0, 0x7e
    loads   lb, 1, 1
    loads   lb, 2, 0x7f
    loads   lb, 3, 0xffffff80
    loads   lbu, 3, 0x80
    loads   lh, 0, 0x017e
    loads   lh, 2, 0xffff807f
    loads   lhu, 2, 0x807f
    loads   lw, 0, 0x807f017e
    loads   lb, 4, 0xffffff81
    loads   lbu, 5, 0xfe
    loads   lh, 4, 0xfffffe81
    loads   lhu, 6, 0xff80
    fence
    .endr
    li      gp, 2
    stores  sb, 0, 0x443322ef
    stores  sb, 1, 0x4433ef11
    stores  sb, 2, 0x44ef2211
    stores  sb, 3, 0xef332211
    stores  sh, 0, 0x4433beef
    stores  sh, 2, 0xbeef2211
    stores  sw, 0, 0xdeadbeef

    # offsets at their limits
    li      gp, 3
    addi    t0, sp, 2047
    addi    t0, t0, 2
    li      t1, 0x1234
    sh      t1, -2047(t0)
    lhu     t2, 2(sp)
    check   t2, 0x1234
    sb      t1, -2048(t0)
    lbu     t2, 1(sp)
    check   t2, 0x34

    # a part of one store over another, at once
    li      gp, 4
    li      t0, 0x11223344
    li      t1, 0xaa
    sw      t0, 128(sp)
    sb      t1, 130(sp)
    lw      t2, 128(sp)             # of two stores: waits
    check   t2, 0x11aa3344
    sw      t0, 132(sp)
    sb      t1, 133(sp)
    lbu     t2, 133(sp)             # of the younger one
    check   t2, 0xaa
    lbu     t2, 132(sp)             # of the older one
    check   t2, 0x44
    lhu     t2, 132(sp)             # of both
    check   t2, 0xaa44
    sb      t1, 140(sp)
    lw      t2, 140(sp)             # of a store and memory
    check   t2, 0xaa
    sw      t0, 144(sp)
    sw      t1, 144(sp)
    lw      t2, 144(sp)             # the youngest
    check   t2, 0xaa
    lh      t2, 144(sp)
    check   t2, 0xaa

    # more stores than the buffer has room for, in one line and in many
    li      gp, 5
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11
    li      t0, 0x1000+\i
    sw      t0, 256+\i*4(sp)
    sw      t0, 512+\i*16(sp)
    .endr
    .irp i, 11,10,9,8,7,6,5,4,3,2,1,0
    lw      t0, 256+\i*4(sp)
    check   t0, 0x1000+\i
    lw      t0, 512+\i*16(sp)
    check   t0, 0x1000+\i
    .endr

    # more lines of one set than the cache has ways
    li      gp, 6
    la      s0, shared+4096
    slli    s1, tp, 15
    add     s0, s0, s1
    li      s2, 8
    mv      t0, s0
    li      t2, 2048
1:  sw      s2, 0(t0)
    lw      t1, 0(t0)
    same    t1, s2
    add     t0, t0, t2
    addi    s2, s2, -1
    bnez    s2, 1b
    li      s2, 8
    mv      t0, s0
1:  lw      t1, 0(t0)
    same    t1, s2
    add     t0, t0, t2
    addi    s2, s2, -1
    bnez    s2, 1b

    # a load whose address is loaded, and a store of what is loaded
    li      gp, 7
    addi    t0, sp, 644
    sw      t0, 640(sp)
    sw      sp, 644(sp)
    lw      t1, 640(sp)
    lw      t2, 0(t1)
    same    t2, sp
    lw      t1, 640(sp)
    sw      t1, 648(sp)
    lw      t2, 648(sp)
    same    t2, t0

    # a load by the alias sees an earlier store, and a load sees an earlier store by the alias
    li      gp, 8
    li      t0, ALIAS
    add     s0, sp, t0
    li      t1, 0x5678
    sw      t1, 768(sp)
    lw      t2, 768(s0)
    same    t2, t1
    lw      t2, 768(sp)             # into the cache
    li      t1, 0x9abc
    sh      t1, 770(s0)
    lw      t2, 768(sp)
    check   t2, 0x9abc5678
    lbu     t2, 771(s0)
    check   t2, 0x9a
    fence
    lw      t2, 768(sp)
    check   t2, 0x9abc5678
    addi    t3, s0, 768
    li      t1, 1
    amoadd.w t2, t1, (t3)
    check   t2, 0x9abc5678
    lw      t2, 768(sp)
    check   t2, 0x9abc5679

    # lines dropped: their contents stay
    li      gp, 9
    addi    t0, sp, 768
    flush_line t0
    lw      t2, 768(sp)
    check   t2, 0x9abc5679
    li      t1, 77
    sw      t1, 768(sp)
    flush_line t0
    lw      t2, 768(sp)
    check   t2, 77
    addi    t0, s0, 768
    flush_line t0
    lw      t2, 768(sp)
    check   t2, 77

    # a store on its way into the cache is seen in every cycle: loads of it, one after the other,
    # until it is there, each time a little later
    li      gp, 10
    li      s5, 16
1:  lw      t0, 896(sp)
    mv      t0, s5
    sw      s5, 896(sp)
2:  addi    t0, t0, -1
    bnez    t0, 2b
    li      t2, 24
3:  .irp r, t1,t3,t4,t5,a0,a1,a2,a3,a4,a5,a6,a7
    lw      \r, 896(sp)
    .endr
    .irp r, t1,t3,t4,t5,a0,a1,a2,a3,a4,a5,a6,a7
    bne     \r, s5, fail
    .endr
    addi    t2, t2, -1
    bnez    t2, 3b
    addi    s5, s5, -1
    bnez    s5, 1b
    j       pass
