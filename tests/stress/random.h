/* SPDX-License-Identifier: MIT */
/*
 * random.h - random numbers of the stress programs.
 */
#ifndef PIRN_TESTS_STRESS_RANDOM_H
#define PIRN_TESTS_STRESS_RANDOM_H

#include <stdint.h>

/* SplitMix64. */
static inline uint32_t stress_random(uint64_t *state, uint32_t n)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) >> 32) % n;
}

#endif
