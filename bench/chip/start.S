# SPDX-License-Identifier: MIT
#
# start.S - what is not C in the workloads of the chip: the start of the harts, the bodies of
# threads, the parent that spawns threads of the hardware scheduler, and its trap of `take`.
#
# A body is the same text for both kinds of scheduling; only its end differs (`term`, `ret`). It
# uses x5 to x15, so a hardware thread that blocks keeps all that it needs. Eight of them are the
# thread's context, which its parent loads (struct context in threads.h):
#
#   s0  where its time goes: a word      a2  the shared line
#   s1  where its hart goes: a byte      a3  operand
#   a0  units of work, at least 1        a4  struct control
#   a1  operand                          a5  number of threads - 1
    .include "test.inc"
    .include "scheduler.inc"

    # of struct control, in threads.h
    .equ DONE, 64
    .equ END, 68
    # enum mode
    .equ MODE_HARD, 1
    .equ MODE_SOFT, 2

main:
    li      t0, 4096
    add     sp, sp, t0
    la      s1, mode
    bnez    tp, 2f
    call    prepare                 # reads the command line; the mode
    mv      s0, a0
    li      t0, MODE_SOFT
    beq     s0, t0, 1f
    call    scheduler_start
1:  fence
    sw      s0, 0(s1)
    j       3f
2:  li      t0, ALIAS               # not cached, so that it leaves the pipeline to hart 0
    add     t0, t0, s1
    lw      s0, 0(t0)
    beqz    s0, 2b
    fence
    li      t0, MODE_HARD
    beq     s0, t0, scheduler_start # does not return
3:  mv      a0, s0
    csrr    a1, mhartid
    call    run
4:  wfi
    j       4b

    # A work unit: 10 instructions, none of which accesses memory.
    .macro work
1:  lui     t0, 0x9e378
    addi    t0, t0, -0x647
    xor     a3, a3, t0
    slli    t1, a3, 13
    xor     a3, a3, t1
    srli    t1, a3, 17
    add     a3, a3, t1
    addi    a0, a0, -1
    xor     a3, a3, a1
    bnez    a0, 1b
    .endm

    # What a thread does after its work: the number of threads that have ended, its time and its
    # hart. Nobody waits for the last two, but before the checks.
    .macro ended
    li      t0, 1
    amoadd.w t1, t0, (a4)
    csrr    a0, mcycle
    sub     t0, a0, t2
    sw      t0, 0(s0)
    csrr    t0, mhartid
    sb      t0, 0(s1)
    .endm

    .macro nothing
    .endm
    .macro body name, before, after
    .globl  hard_\name
hard_\name:
    csrr    t2, mcycle
    \before
    work
    \after
    ended
    beq     t1, a5, hard_last
    term
    .globl  soft_\name
soft_\name:
    csrr    t2, mcycle
    \before
    work
    \after
    ended
    beq     t1, a5, soft_last
    ret
    .endm

    .macro conditional              # one thread at a time has the line
    ld.cfe  t0, a2
    addi    t0, t0, 1
    st.cfe  t0, a2
    .endm
    .macro ordinary                 # the same, but updates can be lost
    lw      t0, 0(a2)
    addi    t0, t0, 1
    sw      t0, 0(a2)
    .endm
    body    a, nothing, nothing
    body    b, conditional, nothing
    body    c, ordinary, nothing
    body    d, nothing, conditional
    body    e, nothing, ordinary

soft_last:
    sw      a0, END(a4)
    fence                           # END before DONE
    li      t0, 1
    sw      t0, DONE(a4)
    ret

    # Whoever called hard_spawn has left its stack.
hard_last:
    sw      a0, END(a4)
    la      sp, hard_stack_end
    j       hard_finished

    # hard_spawn(template, threads, pc, tree): does not return. The calling hart takes threads when
    # all are spawned. Handlers of overflow change x16 to x31, and the caller's stack is not used.
    .globl  hard_spawn
hard_spawn:
    mv      t2, a0
    mv      t1, a2
    li      gp, 0
    mv      tp, a1
    bnez    a3, tree
    # threads gp to tp - 1
leaf:
    lw      s0, 0(t2)
    lw      s1, 4(t2)
    lw      a0, 8(t2)
    lw      a1, 12(t2)
    lw      a2, 16(t2)
    lw      a3, 20(t2)
    lw      a4, 24(t2)
    lw      a5, 28(t2)
    slli    t0, gp, 2
    add     s0, s0, t0
    add     s1, s1, gp
    xor     a3, a3, gp
    spawn   t1
    addi    gp, gp, 1
    bne     gp, tp, leaf
    term
    # The same by halves: each thread spawns one for the upper half, down to 8 threads.
tree:
    sub     t0, tp, gp
    addi    t0, t0, -8
    blez    t0, leaf
    mv      ra, gp
    add     gp, gp, tp
    srli    gp, gp, 1
    la      t0, tree
    spawn   t0
    mv      tp, gp
    mv      gp, ra
    j       tree

    # In mode TAKE: a `spawn` that finds the LIFO full sets t6 and does nothing.
    .balign 4
    .globl  take_trap
take_trap:
    csrr    t6, mcause
    addi    t6, t6, -24
    bnez    t6, unexpected
    csrr    t6, mepc
    addi    t6, t6, 4
    csrw    mepc, t6
    li      t6, 1
    mret

    # semihost(operation, block)
    .globl  semihost
    .balign 16
semihost:
    slli    x0, x0, 0x1f
    ebreak
    srai    x0, x0, 7
    ret

    # leave(status): ends the program.
    .globl  leave
leave:
    li      t0, EXIT
    bnez    a0, 1f
    li      t1, 0x5555
    sw      t1, 0(t0)
1:  mv      gp, a0
    j       fail

    .globl  memory_threads
    .data
    .balign 64
mode:
    .zero   64
    .section .bss
    .balign 64
    .zero   4096
hard_stack_end:
