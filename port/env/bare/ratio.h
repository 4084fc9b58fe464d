/* SPDX-License-Identifier: MIT */
/*
 * ratio.h (bare) - multiplying by a fraction of two numbers of 32 bits, without a division: those
 * of 64 bits are functions of some hundred instructions where registers have 32. No threads, no
 * board: the test (tests/unit/ratio.c) compiles it for the host.
 */
#ifndef PIRN_ENV_BARE_RATIO_H
#define PIRN_ENV_BARE_RATIO_H

#include <stdint.h>

/* whole + fraction / 2^64: above what it stands for by less than 2^-64. */
struct ratio {
    uint32_t whole;
    uint64_t fraction;
};

static inline struct ratio ratio_of(uint32_t n, uint32_t d)
{
    struct ratio r = {.whole = n / d};
    uint64_t rest = n % d;
    for (int i = 0; i < 64; i++) {
        rest *= 2;
        r.fraction *= 2;
        if (rest >= d) {
            rest -= d;
            r.fraction++;
        }
    }
    r.fraction += rest != 0; /* d is too small for a fraction of ones alone */
    return r;
}

/* The upper half of the product, by multiplications of 32 bits. */
static inline uint64_t ratio_high(uint64_t a, uint64_t b)
{
    uint32_t a0 = (uint32_t)a, a1 = (uint32_t)(a >> 32), b0 = (uint32_t)b, b1 = (uint32_t)(b >> 32);
    uint64_t low = (uint64_t)a1 * b0 + ((uint64_t)a0 * b0 >> 32);
    uint64_t middle = (uint64_t)a0 * b1 + (uint32_t)low;
    return (uint64_t)a1 * b1 + (low >> 32) + (middle >> 32);
}

/* The whole part of x * n / d, which has to fit; from x = 2^64 / d on it may be one above that.
 * Grows with x. */
static inline uint64_t ratio_times(const struct ratio *r, uint64_t x)
{
#ifdef __SIZEOF_INT128__
    return x * r->whole + (uint64_t)((unsigned __int128)x * r->fraction >> 64);
#else
    return x * r->whole + ratio_high(x, r->fraction);
#endif
}

#endif
