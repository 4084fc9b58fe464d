/* SPDX-License-Identifier: MIT
 *
 * A chunk's compression by zlib, each by itself. A packer belongs to one thread.
 */
#ifndef APPS_DEDUP_PACK_H
#define APPS_DEDUP_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct packer {
    z_stream stream;
};

/* most: bytes of the largest chunk; zlib allocates memory for that size. */
void packer_init(struct packer *packer, int level, size_t most);
void packer_end(struct packer *packer);

/* Compresses into `out`, which has room for size - 1 bytes. Returns the number of bytes; 0: the
 * result would not be smaller than `size`. */
size_t pack(struct packer *packer, const uint8_t *data, size_t size, uint8_t *out);

void unpacker_init(struct packer *packer);
void unpacker_end(struct packer *packer);

/* False if `data` is not `out_size` bytes, compressed. */
bool unpack(struct packer *packer, const uint8_t *data, size_t size, uint8_t *out, size_t out_size);

#endif
