/* SPDX-License-Identifier: MIT
 *
 * A 64-bit checksum: tells results apart, is the same on every byte order, and
 * is fast enough not to show beside the work. Not cryptographic.
 */
#ifndef APPS_COMMON_CHECKSUM_H
#define APPS_COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_SEED UINT64_C(0x9e3779b97f4a7c15)

/* Continues `sum` with one word. The order of the words matters. */
static inline uint64_t checksum_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return sum ^ (sum >> 32);
}

/* Continues `sum` with a block of bytes; the length counts too. */
uint64_t checksum_bytes(uint64_t sum, const void *data, size_t bytes);

#endif
