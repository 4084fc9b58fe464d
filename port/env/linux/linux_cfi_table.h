/* SPDX-License-Identifier: MIT */
/*
 * linux_cfi_table.h (Linux) - the tables of call frame information: linux_cfi_table.c, for
 * linux_cfi.c.
 *
 * A row says how to find the CFA (the stack pointer before the call) and the caller's registers.
 */
#ifndef PIRN_LINUX_CFI_TABLE_H
#define PIRN_LINUX_CFI_TABLE_H

#include "linux_cfi.h"

#define CFI_STATES 4 /* remembered at once; compilers nest them once */

enum cfi_rule_kind { CFI_SAME, CFI_UNDEFINED, CFI_OFFSET, CFI_VALUE, CFI_REGISTER, CFI_AT, CFI_IS };

struct cfi_rule {
    int32_t kind;
    int32_t value; /* offset, register, or the expression: bytes from the table's beginning */
};

struct cfi_row {
    struct cfi_rule cfa; /* CFI_REGISTER with `offset`, or CFI_IS */
    int32_t offset;
    struct cfi_rule of[CFI_REGISTERS];
};

/* The bytes that are read: one entry's, or those of its common part. */
struct cfi_reader {
    const uint8_t *at, *end;
    bool bad;
};

struct cfi_entry {
    struct cfi_reader common, own; /* instructions */
    uintptr_t begin, end;          /* of the code that it is for */
    uint64_t code_factor;
    int64_t data_factor;
    uint32_t result; /* the column of the return address */
    bool signal;     /* a signal handler returns there: the address is exact */
};

struct cfi_machine {
    const struct cfi_entry *entry;
    const uint8_t *base; /* expressions are kept as distances from it */
    struct cfi_row row, first, kept[CFI_STATES];
    unsigned nkept;
    uintptr_t place;
    bool bad;
};

/* The next number of either kind; of so many bytes. */
uint8_t cfi_byte(struct cfi_reader *r);
uint64_t cfi_unsigned(struct cfi_reader *r);
int64_t cfi_signed(struct cfi_reader *r);

/* The entry for the code at pc. False: there is none. */
bool cfi_find(struct cfi_entry *e, uintptr_t pc);

/* m->row becomes the row of pc. False: the entry has something that is not known here. */
bool cfi_row_of(struct cfi_machine *m, const struct cfi_entry *e, uintptr_t pc);

#endif
