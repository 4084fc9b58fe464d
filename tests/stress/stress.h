/* SPDX-License-Identifier: MIT */
/*
 * stress.h - shared by the stress programs of the native API: failure, atomic words.
 *
 * A stress program runs real threads against real time, so it is not reproducible. Turn its
 * findings into tests of the suites, which run in the simulator.
 */
#ifndef PIRN_TESTS_STRESS_H
#define PIRN_TESTS_STRESS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pirn/pirn.h>

#include "random.h"

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            stress_fail(__FILE__, __LINE__, #cond);                                                \
        }                                                                                          \
    } while (0)

#define ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define GET(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

/* The command that repeats the attempt; the program defines it. */
extern char stress_command[200];

static inline void __attribute__((noreturn))
stress_fail(const char *file, int line, const char *what)
{
    const char *sched = getenv("PIRN_SCHED");
    fprintf(stderr, "FAILED (PIRN_SCHED=%s, %u CPUs): %s:%d: %s\nrepeat: %s\n",
            sched != NULL ? sched : "steal", pirn_cpu_count(), file, line, what, stress_command);
    abort();
}

#endif
