/* SPDX-License-Identifier: MIT */
/*
 * redirect_plan.h (Linux) - which bytes of a module's code are to be replaced, so that its system
 * calls go elsewhere: redirect_plan.c. REDIRECT is defined where that can be done.
 */
#ifndef PIRN_REDIRECT_PLAN_H
#define PIRN_REDIRECT_PLAN_H

#include "linux_cfi_table.h"

#if defined(CFI_TABLES) && defined(__x86_64__)
#include "plan_x86.h"
#define REDIRECT
#elif defined(CFI_TABLES) && defined(__aarch64__)
#include "plan_aarch64.h"
#define REDIRECT
#endif

#ifdef REDIRECT

#include <elf.h>

#define REDIRECT_SITES 256

struct redirect_plan {
    uintptr_t low, high; /* the pages that change */
    int protection;      /* of these pages, PROT_... */
    unsigned nsites;
    struct redirect_site sites[REDIRECT_SITES];
    struct redirect_room room;
};

/* Make a plan for the module that has the instruction at pc: for all of its system calls, or for
 * none. False: for none. Any context; the module must not be unloaded meanwhile. */
bool redirect_plan(struct redirect_plan *plan, uintptr_t pc);

/* The architecture's part: for the code from low to high. plan->low and ->high become the bounds of
 * what changes there. */
bool redirect_plan_code(struct redirect_plan *plan, uintptr_t low, uintptr_t high);

/* More bits for mprotect, beside PROT_READ and PROT_EXEC, that the pages of the module's code need:
 * PROT_BTI, or none. */
int redirect_plan_protection(const Elf64_Ehdr *head, uintptr_t base);

#endif
#endif
