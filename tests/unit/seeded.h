/* SPDX-License-Identifier: MIT */
/*
 * seeded.h - for a program of one file that makes random requests: a failed CHECK, and a failed
 * assertion of the runtime's, says how to repeat the run. The file defines SEEDED, the program's
 * name, before; main sets `state` to `seed`.
 */
#ifndef PIRN_TESTS_SEEDED_H
#define PIRN_TESTS_SEEDED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../stress/random.h"

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fail(__FILE__, __LINE__, #cond);                                                       \
        }                                                                                          \
    } while (0)

static uint64_t seed = 1, state;
static const char *now; /* what is tested; NULL: the line tells */

static _Noreturn void fail(const char *file, int line, const char *what)
{
    printf("FAILED %s:%d: %s%s%s\n", file, line, what, now != NULL ? ", in " : "",
           now != NULL ? now : "");
    printf("repeat: " SEEDED " --seed %" PRIu64 "\n", seed);
    exit(1);
}

void rt_check_failed(const char *file, int line, const char *text)
{
    fail(file, line, text);
}

static unsigned below(unsigned n)
{
    return stress_random(&state, n);
}

#endif
