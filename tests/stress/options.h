/* SPDX-License-Identifier: MIT */
/*
 * options.h - options and random numbers of the stress programs.
 */
#ifndef PIRN_TESTS_STRESS_OPTIONS_H
#define PIRN_TESTS_STRESS_OPTIONS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --name VALUE of the command line, from which it is removed; NULL if it is missing. */
static inline const char *stress_option_text(int *argc, char **argv, const char *name)
{
    for (int i = 1; i < *argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, name) != 0) {
            continue;
        }
        if (i + 1 == *argc) {
            fprintf(stderr, "--%s needs a value\n", name);
            exit(2);
        }
        const char *value = argv[i + 1];
        for (int k = i; k + 2 <= *argc; k++) {
            argv[k] = argv[k + 2];
        }
        *argc -= 2;
        return value;
    }
    return NULL;
}

/* --name NUMBER of the command line, else `otherwise`. */
static inline uint64_t stress_option(int *argc, char **argv, const char *name, uint64_t otherwise)
{
    const char *text = stress_option_text(argc, argv, name);
    if (text == NULL) {
        return otherwise;
    }
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0') {
        fprintf(stderr, "--%s \"%s\" is not a number\n", name, text);
        exit(2);
    }
    return value;
}

/* Call it after taking all options: nothing may be left. */
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
