/* SPDX-License-Identifier: MIT */
/*
 * linux_cfi.h (Linux) - the callers of a place in the code: linux_cfi.c. CFI_TABLES is defined
 * where the architecture has what that needs.
 */
#ifndef PIRN_LINUX_CFI_H
#define PIRN_LINUX_CFI_H

#include "port.h"

/* Stacks are read whatever is on them, to which AddressSanitizer objects. */
#if defined(PORT_ARCH_CFI_REGISTERS) && !defined(PIRN_ASAN) && !defined(PIRN_TSAN)
#define CFI_TABLES
#define CFI_REGISTERS PORT_ARCH_CFI_REGISTERS
#else
#define CFI_REGISTERS 1
#endif

/* As the architecture numbers registers in DWARF; `known` has a bit for each that is. */
struct cfi_registers {
    uintptr_t value[CFI_REGISTERS];
    uint64_t known;
};

/* From the function that runs with these registers outwards: the addresses that each returns to, on
 * the stack from low to high. Returns how many; regs are used up. */
unsigned cfi_frames(struct cfi_registers *regs, uintptr_t low, uintptr_t high, uintptr_t *frames,
                    unsigned max);

#endif
