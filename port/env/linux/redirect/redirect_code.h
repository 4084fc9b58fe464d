/* SPDX-License-Identifier: MIT */
/*
 * redirect_code.h (Linux) - what linux_redirect.c and the architecture's code (redirect_x86.c,
 * redirect_aarch64.c) have of each other.
 */
#ifndef PIRN_REDIRECT_CODE_H
#define PIRN_REDIRECT_CODE_H

#include "redirect_plan.h"

#ifdef REDIRECT

#include <stddef.h>

/* A function in assembly, which a header declares. */
#define ASSEMBLY(name, code)                                                                       \
    __asm__(".pushsection .text\n\t"                                                               \
            ".p2align 4\n\t"                                                                       \
            ".globl " #name "\n\t"                                                                 \
            ".hidden " #name "\n\t"                                                                \
            ".type " #name ", %function\n" #name ":\n\t"                                           \
            ".cfi_startproc\n\t" code "\n\t"                                                       \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", .-" #name "\n\t"                                                     \
            ".popsection")

/* The code for one system call of the module. */
struct place {
    uint8_t code[64];
};

/* Memory beside a module: a page of data, then code. */
struct page {
    void (*call)(void) __attribute__((aligned(4096))); /* redirect_entry, or redirect_not_yet */
    struct place places[] __attribute__((aligned(4096)));
};
_Static_assert(sizeof(struct place) == 64 && offsetof(struct page, places) == 4096, "layout");

/* By linux_redirect.c: all processors go on with the code as it is now, and have made their stores
 * visible; the call by the POSIX layer, with the result of the kernel's. */
void redirect_renew(void);
long redirect_futex(const long *args);

/* May code be changed, and does the architecture know what to save? */
bool redirect_code_can_change(void);

/* Where places call page->call: futex by redirect_futex, or by the kernel. In assembly. */
void redirect_entry(void);
void redirect_not_yet(void);

/* Nobody executes it yet. */
void redirect_write_place(struct page *page, const struct redirect_site *site, struct place *p);

/* All system calls of the plan lead to their places. Threads may execute the code meanwhile. */
void redirect_write_calls(const struct redirect_plan *plan, const struct page *page);

#endif
#endif
