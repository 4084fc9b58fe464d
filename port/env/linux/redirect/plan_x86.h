/* SPDX-License-Identifier: MIT */
/*
 * plan_x86.h (Linux, x86-64) - what a plan says of a system call, and of the room for jumps:
 * plan_x86.c.
 */
#ifndef PIRN_PLAN_X86_H
#define PIRN_PLAN_X86_H

#include <stdbool.h>
#include <stdint.h>

#define REDIRECT_REGIONS 2048
#define REDIRECT_HOPS 1024
#define REDIRECT_REACH 0x70000000u /* a jump of 5 bytes reaches 2 GiB; the module lies within */
#define REDIRECT_STEP 0x1000000u

/* A system call: 2 bytes, which become a jump to `first`; from there hops lead to `last`, where
 * a jump of 5 bytes can leave the module. Without hops that may be the instruction before it:
 * first == last == at - before. */
struct redirect_site {
    uintptr_t at, first, last;
    uint8_t before; /* length of an instruction before it that can be moved; 0: there is none */
    bool relative;  /* that instruction has an operand relative to the next one */
    bool entered;   /* code may jump to the system call */
};

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

struct redirect_room {
    unsigned nregions, nhops;
    struct redirect_region regions[REDIRECT_REGIONS], left[REDIRECT_REGIONS]; /* left: not taken */
    struct redirect_hop hops[REDIRECT_HOPS];
    uint16_t queue[REDIRECT_REGIONS], before[REDIRECT_REGIONS];
};

#endif
