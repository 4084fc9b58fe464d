/* SPDX-License-Identifier: MIT */
/*
 * linux_modules.h (Linux) - the program or library at an address: linux_modules.c.
 */
#ifndef PIRN_LINUX_MODULES_H
#define PIRN_LINUX_MODULES_H

#include "port.h"

struct module {
    uintptr_t start, end;  /* of its memory; of one segment, if there are gaps between them */
    uintptr_t base;        /* where the file's address 0 is in memory */
    const uint8_t *frames; /* its .eh_frame_hdr; NULL: it has none */
};

/* At the start: takes the linker's lock. */
void modules_find(void);

/* False: no module is known there. From any context. */
bool module_at(uintptr_t pc, struct module *module);

/* Is pc in code that the kernel has mapped, and 8 bytes can be read there? From any context. */
bool module_is_kernels(uintptr_t pc);

#endif
