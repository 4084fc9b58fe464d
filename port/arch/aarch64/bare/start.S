/* SPDX-License-Identifier: MIT */
/*
 * start.S (AArch64) - from reset, or from the firmware that starts a core, to C. Every core enters
 * here, with translation off; all at once, or the others later. It goes down to exception level 1,
 * from level 3 without leaving the secure state. Each takes a number. The first one clears memory
 * and goes on to bare_main; until then the others touch only `arrived` and `released`.
 *
 * Caches and translation are switched on before the first load-exclusive, which is defined for
 * ordinary memory only. The translation tables are part of the image (map.S). They map each address
 * to itself; addresses without memory or a device fault.
 *
 * QEMU does not model the following, so this code follows the manuals and is untested: data caches
 * hold nothing at reset, or the firmware has invalidated them; coherence (SMPEN), which only level
 * 3 may set, and otherwise the firmware has set; barriers.
 */
#include "arch_bare.h"
#include "board_map.h"
#include "sizes.h"

#define LEVEL_SHIFT 2
/* In the status that a level is entered with: level 1 with its own stack pointer, all masked. */
#define STATUS_LEVEL1 0x3c5

#define SECURE_CONFIG 0x430             /* of level 3: level 2 or 1 has 64 bits; bits that are one */
#define HYP_CONFIG (1 << 31)            /* of level 2: level 1 has 64 bits */
#define HYP_COUNTER 3                   /* level 1 may use the counter and its timer */
#define HYP_FP 0x33ff                   /* and floating point */
#define FP_ON (3 << 20)

/* Attribute 0: devices, no gathering, no reordering; 1: ordinary memory, cached, write-back,
 * allocated by reads and writes. */
#define MEMORY_ATTRIBUTES 0xff04
/* Addresses of 32 bits in the lower half, none in the upper one; tables are shared, and cached like
 * memory. */
#define TRANSLATION (32 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23)
/* Of the system control register: translation, data cache, stack pointers aligned, instruction
 * cache; bits that are one. */
#define SYSTEM_ON (1 << 0 | 1 << 2 | 1 << 3 | 1 << 12 | 0x30d00800)

    /* Go on behind it at level 1. */
    .macro go_down level
    mov     x0, #STATUS_LEVEL1
    msr     spsr_el\level, x0
    adr     x0, level1
    msr     elr_el\level, x0
    eret
    .endm

    .section .text.start, "ax"
    .globl _start
    .type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    msr     daifset, #15
    mrs     x19, currentel
    lsr     x19, x19, #LEVEL_SHIFT
    cmp     x19, #2
    b.lo    level1
    b.eq    1f

    mov     x0, #SECURE_CONFIG
    msr     scr_el3, x0
    msr     cptr_el3, xzr
    mrs     x0, s3_1_c15_c2_1           /* CPUECTLR of Cortex-A53, -A57 and -A72 */
    orr     x0, x0, #BOARD_COHERENT     /* before the cache is used */
    msr     s3_1_c15_c2_1, x0
    isb
    go_down 3

1:  mov     x0, #HYP_CONFIG
    msr     hcr_el2, x0
    mrs     x0, midr_el1
    msr     vpidr_el2, x0
    mrs     x0, mpidr_el1
    msr     vmpidr_el2, x0
    mrs     x0, cnthctl_el2
    orr     x0, x0, #HYP_COUNTER
    msr     cnthctl_el2, x0
    msr     cntvoff_el2, xzr
    mov     x0, #HYP_FP
    msr     cptr_el2, x0
    msr     hstr_el2, xzr
    go_down 2

level1:
    ldr     x0, =arch_vectors
    msr     vbar_el1, x0
    mov     x0, #FP_ON
    msr     cpacr_el1, x0
    ldr     x0, =MEMORY_ATTRIBUTES
    msr     mair_el1, x0
    ldr     x0, =TRANSLATION
    msr     tcr_el1, x0
    ldr     x0, =arch_map
    msr     ttbr0_el1, x0
    ic      iallu                       /* no instruction is cached */
    tlbi    vmalle1                     /* no translation either */
    dsb     sy
    isb
    ldr     x0, =SYSTEM_ON
    msr     sctlr_el1, x0
    isb
    msr     fpcr, xzr
    msr     fpsr, xzr
    msr     daifclr, #4                 /* errors of the memory system trap */

    ldr     x1, =arrived
2:  ldaxr   w20, [x1]
    add     w2, w20, #1
    stlxr   w3, w2, [x1]
    cbnz    w3, 2b
    mrs     x21, mpidr_el1              /* what the interrupt controller calls the core */
    and     x21, x21, #0xff
    ldr     x22, =released
    cbnz    w20, 5f

    ldr     x0, =__bss_start
    ldr     x1, =__bss_end
3:  cmp     x0, x1
    b.hs    4f
    str     xzr, [x0], #8
    b       3b
4:  ldr     x0, =arch_start_level
    str     w19, [x0]
    mov     w0, #1
    stlr    w0, [x22]
    dsb     sy
    sev
    ldr     x0, =bare_core_stacks + BARE_CORE_ROOM /* until there is main's */
    mov     sp, x0
    mov     x0, x21
    mov     x29, xzr
    bl      bare_main

5:  cmp     w20, #BARE_CORES
    b.hs    7f
6:  ldar    w0, [x22]
    cbnz    w0, 8f
    wfe
    b       6b
7:  wfi
    b       7b
8:  ldr     x0, =bare_core_stacks
    add     w1, w20, #1
    mov     w2, #BARE_CORE_ROOM
    umaddl  x0, w1, w2, x0
    mov     sp, x0
    mov     w0, w20
    mov     x1, x21
    mov     x29, xzr
    bl      bare_core_main
    .cfi_endproc
    .size _start, . - _start

    /* Not cleared with the rest. */
    .section .data.start, "aw"
    .balign 4
    .globl arch_start_level
arrived:  .word 0
released: .word 0
arch_start_level: .word 0               /* the exception level that the first core came from */
