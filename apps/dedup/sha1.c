/* SPDX-License-Identifier: MIT
 *
 * SHA-1, as FIPS 180-4 describes it (see sha1.h).
 */
#include "sha1.h"

#include <string.h>

static uint32_t rotated(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t mixed(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void block_add(uint32_t state[5], const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    uint32_t w[80];

    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (unsigned t = 16; t < 80; t++)
        w[t] = rotated(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (unsigned t = 0; t < 80; t++) {
        uint32_t next = rotated(a, 5) + mixed(t, b, c, d) + e + w[t];

        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sha1_begin(struct sha1 *sha)
{
    *sha = (struct sha1){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

void sha1_add(struct sha1 *sha, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    while (size > 0) {
        size_t filled = (size_t)(sha->bytes % SHA1_BLOCK);
        size_t part = SHA1_BLOCK - filled < size ? SHA1_BLOCK - filled : size;

        memcpy(sha->block + filled, bytes, part);
        sha->bytes += part;
        bytes += part;
        size -= part;
        if (filled + part == SHA1_BLOCK)
            block_add(sha->state, sha->block);
    }
}

void sha1_end(struct sha1 *sha, uint8_t digest[SHA1_SIZE])
{
    static const uint8_t padding[SHA1_BLOCK] = {0x80};
    uint64_t bits = sha->bytes * 8;
    size_t filled = (size_t)(sha->bytes % SHA1_BLOCK);
    uint8_t length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(sha, padding, (filled < 56 ? 56 : 120) - filled);
    sha1_add(sha, length, sizeof length);
    for (unsigned i = 0; i < SHA1_SIZE; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha1_of(const void *data, size_t size, uint8_t digest[SHA1_SIZE])
{
    struct sha1 sha;

    sha1_begin(&sha);
    sha1_add(&sha, data, size);
    sha1_end(&sha, digest);
}
