/* SPDX-License-Identifier: MIT
 *
 * Rabin's fingerprint of the last RABIN_WINDOW bytes (M. O. Rabin, Fingerprinting by Random
 * Polynomials, 1981): the bytes are the coefficients of a polynomial over the field of two
 * elements, and the fingerprint is what remains after division by an irreducible one of degree 53.
 * A byte later it is known in a few steps.
 */
#ifndef APPS_DEDUP_RABIN_H
#define APPS_DEDUP_RABIN_H

#include <stddef.h>
#include <stdint.h>

enum { RABIN_WINDOW = 32, RABIN_DEGREE = 53 };
#define RABIN_POLYNOMIAL UINT64_C(0x3b5ab629ef00d9)

struct rabin_tables {
    uint64_t appended[256]; /* the effect of a byte that leaves the top */
    uint64_t leaving[256];  /* the contribution of the window's oldest byte */
};

/* Once, before the threads. */
void rabin_init(struct rabin_tables *tables);

/* The fingerprint of nothing is 0. `oldest`: the byte that leaves the window, 0 while it is not
 * full. */
static inline uint64_t rabin_roll(const struct rabin_tables *tables, uint64_t fingerprint,
                                  uint8_t oldest, uint8_t next)
{
    fingerprint ^= tables->leaving[oldest];
    return (fingerprint << 8 | next) ^ tables->appended[fingerprint >> (RABIN_DEGREE - 8)];
}

#endif
