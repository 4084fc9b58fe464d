# SPDX-License-Identifier: MIT
#
# pairs.S - a litmus test for lost wake-ups. PAIRS producers and as many consumers meet in WORDS
# words; PAIRS is a multiple of WORDS. A producer puts ROUNDS numbers into its word, each when the
# word is empty; a consumer takes as many, each when it is full, after delays at random. A wake-up
# that is lost leaves a thread in the DTB for ever, and the program does not end. Consumers add up
# what they get: nothing may be lost or come twice. READERS threads wait for one word to become full
# (ld.cff): all must get it.
    .include "test.inc"
    .include "scheduler.inc"
    .include "end.inc"
    .ifndef PAIRS
    .equ PAIRS, 16
    .endif
    .ifndef WORDS
    .equ WORDS, 8
    .endif
    .ifndef ROUNDS
    .equ ROUNDS, 10
    .endif
    .ifndef READERS
    .equ READERS, 6
    .endif
    .ifndef SEED
    .equ SEED, 1
    .endif
    .equ DELAY, 127                 # loops, at most
    .equ ALL, 2*PAIRS+READERS+1

    # A delay at random. s0 has the state; changes t0.
    .macro wait
    slli    t0, s0, 13
    xor     s0, s0, t0
    srli    t0, s0, 17
    xor     s0, s0, t0
    slli    t0, s0, 5
    xor     s0, s0, t0
    andi    t0, s0, DELAY
    srl     t0, t0, t1
2000: addi  t0, t0, -1
    bgez    t0, 2000b
    .endm

main:
    call    scheduler_start
    la      a1, words
    la      a2, sum
    la      a4, news
    li      s0, SEED*2654435761 & 0x7fffffff | 1
    li      s1, 0                   # pair
    li      a3, 0                   # its word
    li      t1, 2
1:  slli    a0, a3, 4
    add     a0, a0, a1
    wait
    andi    t2, s0, 256             # which comes first
    beqz    t2, 2f
    la      t2, consumer
    spawn   t2
    wait
    la      t2, producer
    spawn   t2
    j       3f
2:  la      t2, producer
    spawn   t2
    wait
    la      t2, consumer
    spawn   t2
3:  addi    a3, a3, 1
    li      t2, WORDS
    blt     a3, t2, 4f
    li      a3, 0
4:  addi    s1, s1, 1
    li      t2, READERS
    bgt     s1, t2, 5f
    la      t2, reader
    spawn   t2
5:  li      t2, PAIRS
    bne     s1, t2, 1b
    la      t2, writer
    spawn   t2
    term

producer:
    li      a5, ROUNDS
1:  andi    t1, s0, 7
    wait
    slli    t2, s1, 8
    add     t2, t2, a5
    st.cfe  t2, a0
    addi    a5, a5, -1
    bnez    a5, 1b
    j       end

consumer:
    li      a5, ROUNDS
    li      tp, 0
1:  andi    t1, s0, 7
    wait
    ld.cfe  t2, a0
    add     tp, tp, t2
    addi    a5, a5, -1
    bnez    a5, 1b
    amoadd.w x0, tp, (a2)
    j       end

reader:
    ld.cff  t2, a4
    li      t1, 4711
    beq     t2, t1, end
    failed  2

writer:
    li      t1, 0
    wait
    li      t2, 4711
    st.cfe  t2, a4

end:
    la      t2, ended
    li      t1, 1
    amoadd.w t0, t1, (t2)
    li      t1, ALL-1
    beq     t0, t1, last
    term

last:
    lw      t0, 0(a2)
    # of each pair: ROUNDS times its number * 256, and 1 + 2 + ... ROUNDS
    li      t1, ROUNDS*256*(PAIRS*(PAIRS-1)/2) + PAIRS*ROUNDS*(ROUNDS+1)/2
    beq     t0, t1, 1f
    failed  3
1:  li      t0, SCHEDULER+0x400
    lw      t1, 4(t0)
    beqz    t1, 2f
    failed  4
2:  passed

    .section .bss
    .balign 64
words:
    .zero   16*WORDS
news:
    .zero   16
sum:
    .zero   16
ended:
    .zero   16
