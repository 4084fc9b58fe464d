/* SPDX-License-Identifier: MIT */
/*
 * start.S (RISC-V) - from reset to C. All cores come here at once, with interrupts off. Those of
 * BOARD_PARKED, a bit for each hart, sleep for ever and touch nothing (cpus.parked in board.toml).
 * Each other one takes a number; the first one clears memory and goes on to bare_main, the others
 * touch no memory but `arrived`, `released` and `bare_harts` until it has.
 */
#include "arch_bare.h"
#include "board_map.h"
#include "sizes.h"

#define MSTATUS_FS 0x2000
#define MIE_SOFT 8

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined ra
    csrw mie, zero
    csrci mstatus, ARCH_MIE
#ifdef BOARD_PARKED
    csrr t0, mhartid
    li t1, BOARD_PARKED
    li t2, 32
    bgeu t0, t2, 1f
    srl t1, t1, t0
    andi t1, t1, 1
    beqz t1, 1f
park:
    wfi
    j park
1:
#endif
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la t0, trap_entry
    csrw mtvec, t0
#ifdef __riscv_flen
    li t0, MSTATUS_FS
    csrs mstatus, t0
    fscsr zero
#endif
    la t0, arrived
    li t1, 1
    amoadd.w.aqrl s0, t1, (t0)
    csrr s1, mhartid
#ifdef BOARD_CAPACITIES
    li t0, BARE_CORES
    bgeu s0, t0, 1f
    la t0, bare_harts
    slli t1, s0, 2
    add t0, t0, t1
    addi t1, s1, 1
    sw t1, 0(t0)
1:
#endif
    bnez s0, 2f     /* with one core in use: for ever */

    la t0, __bss_start
    la t1, __bss_end
1:  bgeu t0, t1, 1f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
1:  la sp, bare_first_stack_top
    fence rw, w
    la t0, released
    li t1, 1
    sw t1, 0(t0)
    mv a0, s1
    li s0, 0
    call bare_main

#if BARE_CORES == 1
2:  wfi
    j 2b
#else
    /* The others sleep until the first one interrupts them. */
2:  li t0, MIE_SOFT
    csrw mie, t0
    li t1, BARE_CORES
    la t2, released
3:  wfi
    bgeu s0, t1, 3b
    lw t0, 0(t2)
    beqz t0, 3b
    fence r, rw
    la sp, bare_core_stacks
    addi t0, s0, 1
    li t1, BARE_CORE_ROOM
    mul t0, t0, t1
    add sp, sp, t0
    mv a0, s0
    mv a1, s1
    li s0, 0
    call bare_core_main
#endif
    .cfi_endproc
    .size _start, . - _start

    /* Not cleared with the rest. */
    .section .data.start, "aw"
    .balign 4
arrived:  .word 0
released: .word 0
#ifdef BOARD_CAPACITIES
    .globl bare_harts
bare_harts: .zero 4 * BARE_CORES
#endif
