/* SPDX-License-Identifier: MIT */
/*
 * sweep.h - the parts of pirn-sim-sweep: sweep.c (command line, shares over MPI, the report), and
 * sweep_share.c (a share in a process of its own).
 */
#ifndef PIRN_TESTS_SWEEP_H
#define PIRN_TESTS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seeds first ... first + count - 1. count 0: no share. */
struct share {
    uint64_t first, count;
};

enum share_end {
    SHARE_PASSED, /* all seeds ran; none failed */
    SHARE_FAILED, /* the program ran to its end and reports failures */
    SHARE_LOST,   /* the program did not run to its end */
};

struct result {
    uint64_t schedules; /* of a lost share: 0, for the program counts at its end */
    enum share_end end;
    char *text; /* reports of failures, and how a lost share ended; malloc */
};

/* The program that runs a share, and its options without the seeds; ends with NULL. */
extern const char *const *sweep_command;
extern bool sweep_mutant; /* with --mutant the program succeeds if a seed fails */

/* Run the program on a share, and wait for its end. Errors are in the result. Any thread. */
struct result share_run(struct share share);

/* What the program says about its options: NULL if it accepts them, else its message; malloc. */
char *share_refusal(struct share share);

/* The command of a share, for people. Returns the length, as snprintf. */
int share_print(char *text, size_t size, struct share share);

#endif
