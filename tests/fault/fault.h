/* SPDX-License-Identifier: MIT */
/*
 * fault.h - shared by the parts of pirn-fault. Each causes one kind of trouble for the runtime and
 * checks the outcome.
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

/* Create threads until memory is exhausted, end them, and repeat: the process is limited to `room`
 * MB more than it has. At most `cached` stacks may be out of reach, in the caches of late CPUs. */
void fault_memory(unsigned room, unsigned cached);

/* Detached threads with large stacks, by two creators at once, with room for a few. */
void fault_scarce(void);

/* Threads with a descriptor, or descriptor and stack, of the caller. */
void fault_given(void);

/* Limit the process to its current size plus `room` bytes; returns the current size in bytes. */
uint64_t fault_limit_memory(uint64_t room);

#endif
