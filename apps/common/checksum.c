/* SPDX-License-Identifier: MIT
 *
 * Checksum of a block of bytes (see checksum.h).
 */
#include "checksum.h"

/* Spelled out byte by byte so that every machine reads the same number; the
 * compilers turn it into one load where the byte order allows it. */
static uint64_t load_le64(const uint8_t *p)
{
    uint64_t word = 0;

    for (int i = 7; i >= 0; i--)
        word = word << 8 | p[i];
    return word;
}

uint64_t checksum_bytes(uint64_t sum, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint64_t tail = 0;

    for (size_t left = bytes / 8; left > 0; left--, p += 8)
        sum = checksum_word(sum, load_le64(p));
    for (size_t i = 0; i < bytes % 8; i++)
        tail |= (uint64_t)p[i] << (8 * i);
    return checksum_word(checksum_word(sum, tail), bytes);
}
