/* SPDX-License-Identifier: MIT
 *
 * Records as bytes (see archive.h).
 */
#include "archive.h"

#include <string.h>

static uint8_t *put(uint8_t *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *out++ = (uint8_t)(number >> (8 * i));
    return out;
}

static uint64_t get(const uint8_t **in, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t) * (*in)++ << (8 * i);
    return number;
}

static uint8_t *put_digest(uint8_t *out, const uint8_t *digest)
{
    memcpy(out, digest, SHA1_SIZE);
    return out + SHA1_SIZE;
}

size_t record_encode(const struct record *r, uint8_t out[RECORD_MOST])
{
    uint8_t *at = put(out, (uint64_t)r->kind, 1);

    switch (r->kind) {
    case RECORD_PACKED:
        at = put_digest(put(put(at, r->raw_size, 4), r->stored_size, 4), r->digest);
        break;
    case RECORD_STORED:
        at = put_digest(put(at, r->raw_size, 4), r->digest);
        break;
    case RECORD_AGAIN:
        at = put(at, r->number, 8);
        break;
    case RECORD_END:
        at = put_digest(put(put(at, r->bytes, 8), r->number, 8), r->digest);
        break;
    }
    return (size_t)(at - out);
}

size_t record_size(int kind)
{
    switch (kind) {
    case RECORD_PACKED:
        return 4 + 4 + SHA1_SIZE;
    case RECORD_STORED:
        return 4 + SHA1_SIZE;
    case RECORD_AGAIN:
        return 8;
    case RECORD_END:
        return 8 + 8 + SHA1_SIZE;
    default:
        return 0;
    }
}

void record_decode(struct record *r, int kind, const uint8_t *in)
{
    *r = (struct record){.kind = (enum record_kind)kind};
    if (kind == RECORD_PACKED || kind == RECORD_STORED)
        r->raw_size = r->stored_size = (uint32_t)get(&in, 4);
    if (kind == RECORD_PACKED)
        r->stored_size = (uint32_t)get(&in, 4);
    if (kind == RECORD_END)
        r->bytes = get(&in, 8);
    if (kind == RECORD_AGAIN || kind == RECORD_END)
        r->number = get(&in, 8);
    if (kind != RECORD_AGAIN)
        memcpy(r->digest, in, SHA1_SIZE);
}
