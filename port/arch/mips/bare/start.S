/* SPDX-License-Identifier: MIT */
/*
 * start.S (MIPS) - vectors, and from reset to C. The first core comes from a loader, which has made
 * caches usable; the others come from reset, when the board lets them, and do it themselves. Each
 * takes a number.
 *
 * QEMU has no caches: that the code for them is right is not shown there.
 */
#include "arch_bare.h"
#include "sizes.h"

#define UNCACHED 0x20000000         /* from an address of cached memory */
#define COHERENT 5                  /* Config.K0: cached, write-back, coherent */
#define STATUS_BEV 0x00400000

/* CP0 registers */
#define INDEX $0
#define ENTRY_LO0 $2
#define ENTRY_LO1 $3
#define PAGE_MASK $5
#define ENTRY_HI $10
#define STATUS $12
#define CAUSE $13
#define EBASE $15, 1
#define MANAGER $15, 3              /* where the coherence manager is, divided by 16 */
#define CONFIG $16
#define CONFIG1 $16, 1
#define DEPC $24
#define TAG_LO_I $28
#define TAG_LO_D $28, 2
#define TAG_HI_I $29
#define TAG_HI_D $29, 2
#define MANAGER_COHERENCE 0x2008

#define INVALIDATE_I 8              /* cache: store the tag at this index */
#define INVALIDATE_D 9

    /* The linker script has these two at the beginning of a page each. */
    .section .text.vectors, "ax"

    /* EBase. Missing addresses have the first vector, all else that one at 0x180. */
vectors:
    b trap_entry
    .org 0x180
    b trap_entry

    /* Every line of a cache: Config1 in $8 says how many sets, bytes in a line, ways. */
    .macro invalidate operation, sets, bytes, ways
    ext $9, $8, \bytes, 3
    beqz $9, 2f
    li $10, 2
    sllv $10, $10, $9
    ext $9, $8, \sets, 3
    addiu $9, $9, 1
    andi $9, $9, 7
    li $11, 32
    sllv $11, $11, $9
    ext $9, $8, \ways, 3
    addiu $9, $9, 1
    mul $11, $11, $9
    mul $11, $11, $10
    lui $9, 0x8000
    addu $11, $11, $9
1:  cache \operation, 0($9)
    addu $9, $9, $10
    bne $9, $11, 1b
2:
    .endm

    .section .text.reset, "ax"
    .globl core_reset
    .type core_reset, @function
core_reset:
    .cfi_startproc
    .cfi_undefined 31
    mtc0 $0, TAG_LO_I
    mtc0 $0, TAG_HI_I
    mtc0 $0, TAG_LO_D
    mtc0 $0, TAG_HI_D
    ehb
    mfc0 $8, CONFIG1
    invalidate INVALIDATE_I, 22, 19, 16
    invalidate INVALIDATE_D, 13, 10, 7
    mfc0 $8, MANAGER                /* joins the coherent domain */
    sll $8, $8, 4
    lui $9, 0xa000
    or $8, $8, $9
    li $9, 0xff
    sw $9, MANAGER_COHERENCE($8)
    sync
    mfc0 $8, CONFIG
    li $9, COHERENT
    ins $8, $9, 0, 3
    mtc0 $8, CONFIG
    ehb
    la $8, core_begins
    jr.hb $8

    /* Debug exceptions: 0x480 behind the address of reset. A call of the machine that runs the
     * program (trap.S) gets here if there is none, and goes on; anything else was no call. */
    .org 0x480
    mfc0 $26, DEPC
    la $27, semihost_trap
    beq $26, $27, 1f
    li $27, ARCH_STATUS
    mtc0 $27, STATUS
    la $27, breakpoint
    mtc0 $27, DEPC
    ehb
    deret
1:  li $2, -1
    addiu $26, $26, 4
    mtc0 $26, DEPC
    ehb
    deret
    .cfi_endproc
    .size core_reset, . - core_reset

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined 31
core_begins:
    mfc0 $8, STATUS
    li $9, STATUS_BEV               /* while EBase changes */
    or $8, $8, $9
    mtc0 $8, STATUS
    ehb
    la $8, vectors
    mtc0 $8, EBASE
    mtc0 $0, CAUSE
    li $8, ARCH_STATUS
    mtc0 $8, STATUS
    ehb
    ctc1 $0, $31
    la $28, _gp

    /* No address is translated. */
    mtc0 $0, ENTRY_LO0
    mtc0 $0, ENTRY_LO1
    mtc0 $0, PAGE_MASK
    mfc0 $8, CONFIG1
    ext $8, $8, 25, 6
    lui $9, 0x8000                  /* one that never is, another for each entry */
1:  mtc0 $8, INDEX
    mtc0 $9, ENTRY_HI
    ehb
    tlbwi
    addiu $9, $9, 0x2000
    addiu $8, $8, -1
    bgez $8, 1b
    mtc0 $0, ENTRY_HI

    la $8, arrived
1:  ll $16, 0($8)
    addiu $9, $16, 1
    sc $9, 0($8)
    beqz $9, 1b
    sync
    mfc0 $17, EBASE
    andi $17, $17, 0x3ff
    move $30, $0
    bnez $16, 2f

    la $8, __bss_start
    la $9, __bss_end
1:  bgeu $8, $9, 1f
    sw $0, 0($8)
    addiu $8, $8, 4
    b 1b
1:  la $29, bare_first_stack_top - 16
    move $4, $17
    jal bare_main

2:  sltiu $8, $16, BARE_CORES
    bnez $8, 1f
    wait
    b 2b
1:  la $29, bare_core_stacks + BARE_CORE_ROOM - 16
    li $8, BARE_CORE_ROOM
    mul $8, $8, $16
    addu $29, $29, $8
    move $4, $16
    move $5, $17
    jal bare_core_main
    .cfi_endproc
    .size _start, . - _start

    .section .text.arch_reset_page, "ax"
    .globl arch_reset_page
    .type arch_reset_page, @function
arch_reset_page:
    .cfi_startproc
    la $2, core_reset + UNCACHED
    jr $31
    .cfi_endproc
    .size arch_reset_page, . - arch_reset_page

    /* Not cleared with the rest. */
    .section .data.start, "aw"
    .balign 4
arrived:  .word 0
