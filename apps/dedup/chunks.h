/* SPDX-License-Identifier: MIT
 *
 * Cutting of data: after bytes whose fingerprint has its low bits set. So the same text is cut at
 * the same positions wherever it occurs.
 */
#ifndef APPS_DEDUP_CHUNKS_H
#define APPS_DEDUP_CHUNKS_H

#include "rabin.h"

enum { CHUNK_MOST = 1 << 20 }; /* bytes, in any archive */

struct cutter {
    struct rabin_tables tables;
    size_t least, average, most; /* of a chunk: a fourth of the average, four times the average */
};

/* average: a power of two, 4 * RABIN_WINDOW to CHUNK_MOST / 4 */
void cutter_init(struct cutter *cutter, size_t average);

/* The length of the chunk that begins at `data`; 0 < length <= size. */
size_t chunk_length(const struct cutter *cutter, const uint8_t *data, size_t size);

/* The last place in the end of `data` where it may be cut; size if there is none. */
size_t last_cut(const struct cutter *cutter, const uint8_t *data, size_t size);

#endif
