/* SPDX-License-Identifier: MIT */
/*
 * plan_aarch64.h (Linux, AArch64) - what a plan says of a system call: plan_aarch64.c.
 */
#ifndef PIRN_PLAN_AARCH64_H
#define PIRN_PLAN_AARCH64_H

#include <stdint.h>

#define REDIRECT_REACH 0x7000000u /* a branch reaches 128 MiB */
#define REDIRECT_STEP 0x100000u

/* A system call, which becomes a branch. */
struct redirect_site {
    uintptr_t at;
};

/* A branch has room where the system call is. */
struct redirect_room {
    uint8_t none;
};

#endif
