/* SPDX-License-Identifier: MIT
 *
 * SHA-1 (FIPS 180-4): identifies chunks by their contents. It protects against accidents. If an
 * attacker makes two inputs with one digest, comparing the bytes tells them apart (table.h).
 */
#ifndef APPS_DEDUP_SHA1_H
#define APPS_DEDUP_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_SIZE = 20, SHA1_BLOCK = 64 };

struct sha1 {
    uint32_t state[5];
    uint64_t bytes;
    uint8_t block[SHA1_BLOCK]; /* bytes % SHA1_BLOCK of it are filled */
};

void sha1_begin(struct sha1 *sha);
void sha1_add(struct sha1 *sha, const void *data, size_t size);
void sha1_end(struct sha1 *sha, uint8_t digest[SHA1_SIZE]);

/* All three. */
void sha1_of(const void *data, size_t size, uint8_t digest[SHA1_SIZE]);

#endif
