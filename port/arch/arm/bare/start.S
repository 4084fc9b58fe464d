/* SPDX-License-Identifier: MIT */
/*
 * start.S (ARM) - from reset, or from the firmware that starts a core, to C. Every core enters
 * here, with interrupts disabled; all at once, or the others later. Each takes a number. The first
 * one clears memory and goes on to bare_main; until then the others touch only `arrived` and
 * `released`.
 *
 * Caches and translation are switched on before the first ldrex, which is defined for ordinary
 * memory only. The translation table is part of the image (map.S). It maps each address to itself;
 * addresses without memory or a device fault.
 *
 * QEMU does not model the following, so this code follows the manuals and is untested: data caches
 * hold nothing at reset, or the firmware has invalidated them (ARM11 MPCore, Cortex-A15; a
 * Cortex-A9 without firmware needs them invalidated by set and way first); coherence (SMP bit,
 * snoop control unit); barriers.
 */
#include "arch_bare.h"
#include "board_map.h"
#include "sizes.h"

/* Of the system control register: translation, data cache, branch prediction, instruction cache;
 * unaligned accesses, tables without subpages as of ARMv6. */
#define SYSTEM_ON ((1 << 0) | (1 << 2) | (1 << 11) | (1 << 12) | (1 << 22) | (1 << 23))
/* Alignment checks (bare_aligned turns them on), vectors at 0xffff0000, remapped types of memory,
 * access flags. */
#define SYSTEM_OFF ((1 << 1) | (1 << 13) | (1 << 28) | (1 << 29))
#define COPROCESSORS_FP 0xf00000
#define FP_ON 0x40000000

    .syntax unified
    .arm

    .macro instruction_barrier
#if __ARM_ARCH >= 7
    isb
#else
    mcr     p15, 0, r0, c7, c5, 4
#endif
    .endm

    .macro data_barrier
#if __ARM_ARCH >= 7
    dsb
#else
    mcr     p15, 0, r0, c7, c10, 4
#endif
    .endm

    /* At address 0 where the architecture has no register for it. */
    .section .text.vectors, "ax"
    .balign 32
vectors:
    b       _start
    b       trap_undefined
    b       trap_call
    b       trap_fetch
    b       trap_data
    b       .                           /* of the hypervisor's mode */
    b       trap_interrupt
    b       trap_fast

    .section .text.start, "ax"
    .globl _start
    .type _start, %function
_start:
    .fnstart
    cpsid   if, #ARCH_MODE_SYSTEM
#if __ARM_ARCH >= 7
    ldr     r0, =vectors
    mcr     p15, 0, r0, c12, c0, 0
#endif
    mov     r0, #0
    mcr     p15, 0, r0, c7, c5, 0       /* no instruction, no branch is cached */
    mcr     p15, 0, r0, c7, c5, 6
    mcr     p15, 0, r0, c8, c7, 0       /* no translation either */
    mcr     p15, 0, r0, c2, c0, 2       /* one table */
    mov     r0, #1
    mcr     p15, 0, r0, c3, c0, 0       /* domain 0: as the table says */
    ldr     r0, =arch_map
    mcr     p15, 0, r0, c2, c0, 0
    .if BOARD_SNOOP_CONTROL
    ldr     r1, =BOARD_SNOOP_CONTROL
    ldr     r0, [r1]
    orr     r0, r0, #1
    str     r0, [r1]
    .endif
    mrc     p15, 0, r0, c1, c0, 1
    orr     r0, r0, #BOARD_COHERENT     /* before the cache is used */
    mcr     p15, 0, r0, c1, c0, 1
    data_barrier
    mrc     p15, 0, r0, c1, c0, 0
    ldr     r1, =SYSTEM_ON
    orr     r0, r0, r1
    ldr     r1, =SYSTEM_OFF
    bic     r0, r0, r1
    ldr     r1, =bare_aligned
    orr     r0, r0, r1, lsl #1          /* unaligned accesses trap */
    mcr     p15, 0, r0, c1, c0, 0
    instruction_barrier

#ifdef __ARM_FP
    mrc     p15, 0, r0, c1, c0, 2
    orr     r0, r0, #COPROCESSORS_FP
    mcr     p15, 0, r0, c1, c0, 2
    instruction_barrier
    mov     r0, #FP_ON
    vmsr    fpexc, r0
    mov     r0, #0
    vmsr    fpscr, r0
#endif

    ldr     r1, =arrived
1:  ldrex   r4, [r1]
    add     r2, r4, #1
    strex   r3, r2, [r1]
    cmp     r3, #0
    bne     1b
    data_barrier
    mrc     p15, 0, r5, c0, c0, 5       /* what the interrupt controller calls the core */
    and     r5, r5, #0xff
    ldr     r6, =released
    cmp     r4, #0
    bne     3f

    ldr     r0, =__bss_start
    ldr     r1, =__bss_end
    mov     r2, #0
2:  cmp     r0, r1
    strlo   r2, [r0], #4
    blo     2b
    data_barrier
    mov     r0, #1
    str     r0, [r6]
    data_barrier
    sev
    ldr     sp, =bare_core_stacks + BARE_CORE_ROOM /* until there is main's */
    mov     r0, r5
    mov     r11, #0
    bl      bare_main

3:  cmp     r4, #BARE_CORES
    bhs     5f
4:  ldr     r0, [r6]
    cmp     r0, #0
    wfeeq
    beq     4b
    data_barrier
    ldr     sp, =bare_core_stacks
    add     r0, r4, #1
    ldr     r1, =BARE_CORE_ROOM
    mla     sp, r0, r1, sp
    mov     r0, r4
    mov     r1, r5
    mov     r11, #0
    bl      bare_core_main
5:  wfi
    b       5b
    .cantunwind
    .fnend
    .size _start, . - _start

    /* Not cleared with the rest. */
    .section .data.start, "aw"
    .balign 4
arrived:  .word 0
released: .word 0
