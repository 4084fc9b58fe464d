/* SPDX-License-Identifier: MIT */
/*
 * stress.h - shared by the stress programs: options, random numbers, failure.
 *
 * A stress program runs real threads against real time; it is not reproducible. What it finds is to
 * be turned into a test of the suites, which run in the simulator.
 */
#ifndef PIRN_TESTS_STRESS_H
#define PIRN_TESTS_STRESS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <pirn/pirn.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            stress_fail(__FILE__, __LINE__, #cond);                                                \
        }                                                                                          \
    } while (0)

#define ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define GET(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

static inline void __attribute__((noreturn))
stress_fail(const char *file, int line, const char *what)
{
    const char *sched = getenv("PIRN_SCHED");
    fprintf(stderr, "FAILED (PIRN_SCHED=%s, %u CPUs): %s:%d: %s\n", sched != NULL ? sched : "steal",
            pirn_cpu_count(), file, line, what);
    abort();
}

/* --name NUMBER of the command line, else `otherwise`. */
static inline uint64_t stress_option(int *argc, char **argv, const char *name, uint64_t otherwise)
{
    for (int i = 1; i + 1 < *argc; i++) {
        char *end;
        if (argv[i][0] != '-' || argv[i][1] != '-' || __builtin_strcmp(argv[i] + 2, name) != 0) {
            continue;
        }
        uint64_t value = strtoull(argv[i + 1], &end, 10);
        if (end == argv[i + 1] || *end != '\0') {
            fprintf(stderr, "--%s \"%s\" is not a number\n", name, argv[i + 1]);
            exit(2);
        }
        for (int k = i; k + 2 <= *argc; k++) {
            argv[k] = argv[k + 2];
        }
        *argc -= 2;
        return value;
    }
    return otherwise;
}

/* After all options were taken: nothing may be left. */
static inline void stress_options_end(int argc, char **argv, const char *known)
{
    if (argc > 1) {
        fprintf(stderr, "%s: what is \"%s\"? options: %s\n", argv[0], argv[1], known);
        exit(2);
    }
}

/* SplitMix64. */
static inline uint32_t stress_random(uint64_t *state, uint32_t n)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) >> 32) % n;
}

#endif
