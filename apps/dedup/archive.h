/* SPDX-License-Identifier: MIT
 *
 * The archive's format (README.md of the applications): a magic number, records, an end record.
 * Numbers are little-endian.
 *
 *   "PDD1"
 *   'Z' raw size (4 bytes), stored size (4), SHA-1 of the raw bytes (20), a zlib stream
 *   'S' size (4), SHA-1 (20), the bytes themselves
 *   'R' number (8) of the 'Z' or 'S' record, from 0, whose bytes come again
 *   'E' bytes (8), records (8) before it, SHA-1 (20) of the chunks' digests in their order
 */
#ifndef APPS_DEDUP_ARCHIVE_H
#define APPS_DEDUP_ARCHIVE_H

#include "sha1.h"

#include <stdint.h>
#include <stdio.h>

#define ARCHIVE_MAGIC "PDD1"
enum { ARCHIVE_MAGIC_SIZE = 4 };
enum record_kind { RECORD_PACKED = 'Z', RECORD_STORED = 'S', RECORD_AGAIN = 'R', RECORD_END = 'E' };

struct record {
    enum record_kind kind;
    uint32_t raw_size, stored_size;
    uint64_t number;           /* R; for E the number of records */
    uint64_t bytes;            /* E */
    uint8_t digest[SHA1_SIZE]; /* Z, S, E */
};

/* The bytes of a record without what it stores, at most RECORD_MOST. */
enum { RECORD_MOST = 1 + 8 + 8 + SHA1_SIZE };
size_t record_encode(const struct record *record, uint8_t out[RECORD_MOST]);

/* How many bytes follow the kind; 0: there is no such kind. */
size_t record_size(int kind);

/* `in`: these bytes. */
void record_decode(struct record *record, int kind, const uint8_t *in);

#endif
