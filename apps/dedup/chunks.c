/* SPDX-License-Identifier: MIT
 *
 * Cutting by contents (see chunks.h). A chunk's fingerprint depends on bytes of this chunk alone,
 * because the smallest chunk is at least one window long.
 */
#include "chunks.h"

void cutter_init(struct cutter *cutter, size_t average)
{
    rabin_init(&cutter->tables);
    cutter->least = average / 4;
    cutter->average = average;
    cutter->most = 4 * average;
}

static int is_anchor(const struct cutter *cutter, uint64_t fingerprint)
{
    return (fingerprint & (cutter->average - 1)) == cutter->average - 1;
}

/* The fingerprint of the RABIN_WINDOW bytes in front of data[end]. */
static uint64_t window_before(const struct cutter *cutter, const uint8_t *data, size_t end)
{
    uint64_t fingerprint = 0;

    for (size_t i = end - RABIN_WINDOW; i < end; i++)
        fingerprint = rabin_roll(&cutter->tables, fingerprint, 0, data[i]);
    return fingerprint;
}

size_t chunk_length(const struct cutter *cutter, const uint8_t *data, size_t size)
{
    size_t most = size < cutter->most ? size : cutter->most;
    uint64_t fingerprint;

    if (size <= cutter->least)
        return size;
    fingerprint = window_before(cutter, data, cutter->least);
    for (size_t end = cutter->least; end < most; end++) {
        if (is_anchor(cutter, fingerprint))
            return end;
        fingerprint = rabin_roll(&cutter->tables, fingerprint, data[end - RABIN_WINDOW], data[end]);
    }
    return most;
}

size_t last_cut(const struct cutter *cutter, const uint8_t *data, size_t size)
{
    size_t end = size > cutter->most + RABIN_WINDOW ? size - cutter->most : RABIN_WINDOW;
    size_t found = size;
    uint64_t fingerprint;

    if (size <= RABIN_WINDOW)
        return size;
    for (fingerprint = window_before(cutter, data, end); end < size; end++) {
        if (is_anchor(cutter, fingerprint))
            found = end;
        fingerprint = rabin_roll(&cutter->tables, fingerprint, data[end - RABIN_WINDOW], data[end]);
    }
    return found;
}
