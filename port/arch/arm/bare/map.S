/* SPDX-License-Identifier: MIT */
/*
 * map.S (ARM) - the translation table: a word for each MiB, which is ordinary memory, devices, or
 * nothing, as board_map.h says. Addresses translate to themselves; all cores share it. Memory
 * behind the image is mapped by pages later (bare_pages.c).
 */
#include "board_map.h"

/* Sections for privileged modes; ordinary memory is shared, cached, write-back, allocated by reads
 * and writes; devices are shared, and nothing to execute. */
#define SECTION 0x402
#define MEMORY (SECTION | 0x1100c)
#define DEVICE (SECTION | 0x14)

    .section .data.map, "aw"            /* not beside the code: its alignment is its segment's */
    .balign 16384
    .globl arch_map
arch_map:
    .set mib, 0
    .rept 4096
    .if mib >= BOARD_RAM_MIB && mib < BOARD_RAM_MIB + BOARD_RAM_MIBS
    .word mib << 20 | MEMORY
    .elseif mib >= BOARD_DEVICES_MIB && mib < BOARD_DEVICES_MIB + BOARD_DEVICES_MIBS
    .word mib << 20 | DEVICE
    .else
    .word 0
    .endif
    .set mib, mib + 1
    .endr
