/* SPDX-License-Identifier: MIT */
/*
 * redirect_plan.h (Linux, x86-64) - which bytes of a module's code are to be replaced, so that its
 * system calls go elsewhere: redirect_plan.c.
 */
#ifndef PIRN_REDIRECT_PLAN_H
#define PIRN_REDIRECT_PLAN_H

#include "linux_cfi_table.h"

#ifdef CFI_TABLES

#define REDIRECT_SITES 256
#define REDIRECT_REGIONS 2048
#define REDIRECT_HOPS 1024

/* Bytes that are never executed, or, with `head`, a NOP whose first two bytes (at `head`) become a
 * jump behind it. */
struct redirect_region {
    uintptr_t at, head;
    uint16_t size, skip; /* skip: the NOP's length less 2 */
};

/* A jump of 2 bytes. */
struct redirect_hop {
    uintptr_t at, to;
};

struct redirect_plan {
    uintptr_t low, high; /* the pages that change */
    int protection;      /* of these pages, PROT_... */
    unsigned nsites, nregions, nhops;
    /* A system call: 2 bytes, which become a jump to `first`; from there hops lead to `last`, where
     * a jump of 5 bytes can leave the module. Without hops that may be the instruction before it:
     * first == last == at - before. */
    struct redirect_site {
        uintptr_t at, first, last;
        uint8_t before; /* length of an instruction before it that can be moved; 0: there is none */
        bool relative;  /* that instruction has an operand relative to the next one */
        bool entered;   /* code may jump to the system call */
    } sites[REDIRECT_SITES];
    struct redirect_region regions[REDIRECT_REGIONS], left[REDIRECT_REGIONS]; /* left: not taken */
    struct redirect_hop hops[REDIRECT_HOPS];
    uint16_t queue[REDIRECT_REGIONS], before[REDIRECT_REGIONS];
};

/* Make a plan for the module that has the instruction at pc: for all of its system calls, or for
 * none. False: for none. Any context; the module must not be unloaded meanwhile. */
bool redirect_plan(struct redirect_plan *plan, uintptr_t pc);

#endif
#endif
