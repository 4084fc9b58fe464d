/* SPDX-License-Identifier: MIT */
/*
 * fault.h - shared by the parts of pirn-fault, each of which brings the runtime into trouble in one
 * way and checks how it comes out.
 */
#ifndef PIRN_TESTS_FAULT_H
#define PIRN_TESTS_FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <pirn/pirn.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* vsnprintf ends the program (stdio.c; not in builds with a sanitizer, which needs its own). */
extern bool fault_no_stdio;

/* Overflow a stack; `whose`: joinable, detached, static, elsewhere. Does not return. */
void fault_overflow(const char *whose);

/* Create threads until memory is used up, end them, again: the process is limited to `room` MB more
 * than it has. At most `cached` stacks may stay out of reach: with CPUs that are late. */
void fault_memory(unsigned room, unsigned cached);

/* Detached threads with large stacks, by two creators at once, where there is room for a few. */
void fault_scarce(void);

/* Threads whose descriptor, or descriptor and stack, the caller gives. */
void fault_given(void);

/* Limit the process to what it has and `room` bytes more; bytes it has. */
uint64_t fault_limit_memory(uint64_t room);

#endif
