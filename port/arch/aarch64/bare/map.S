/* SPDX-License-Identifier: MIT */
/*
 * map.S (AArch64) - the translation tables for 4 GiB: a word for each 2 MiB, which are ordinary
 * memory, devices, or nothing, as board_map.h says; and the words that show those tables, one for
 * each GiB. Addresses translate to themselves; all cores share them. Memory behind the image is
 * mapped by pages later (bare_pages.c).
 */
#include "board_map.h"

/* Blocks for level 1 alone. Ordinary memory is shared, and of attribute 1 of start.S; devices are
 * of attribute 0, and nothing to execute. */
#define BLOCK 0x401
#define MEMORY (BLOCK | 3 << 8 | 1 << 2)
#define DEVICE (BLOCK | 3 << 53)
#define TABLE 3

    .section .data.map, "aw"            /* not beside the code: its alignment is its segment's */
    .balign 4096
    .globl arch_blocks
arch_blocks:
    .set mib, 0
    .rept 2048
    .if mib >= BOARD_RAM_MIB && mib < BOARD_RAM_MIB + BOARD_RAM_MIBS
    .quad mib << 20 | MEMORY
    .elseif mib >= BOARD_DEVICES_MIB && mib < BOARD_DEVICES_MIB + BOARD_DEVICES_MIBS
    .quad mib << 20 | DEVICE
    .else
    .quad 0
    .endif
    .set mib, mib + 2
    .endr

    .globl arch_map
arch_map:
    .set gib, 0
    .rept 4
    .quad arch_blocks + gib * 4096 + TABLE
    .set gib, gib + 1
    .endr
