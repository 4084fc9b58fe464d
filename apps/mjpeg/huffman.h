/* SPDX-License-Identifier: MIT
 *
 * Huffman tables of baseline JPEG: canonical codes of 1 to 16 bits.
 *
 * A code of up to FAST_BITS bits is found by one look-up; a longer one by
 * comparing with the limit of each length, because canonical codes of one length
 * are consecutive numbers and longer codes are larger (left-aligned) numbers.
 */
#ifndef APPS_MJPEG_HUFFMAN_H
#define APPS_MJPEG_HUFFMAN_H

#include "bitreader.h"

#include <stdbool.h>
#include <stdint.h>

enum { HUFFMAN_FAST_BITS = 9, HUFFMAN_MAX_BITS = 16 };

enum huffman_class { HUFFMAN_DC, HUFFMAN_AC };

struct huffman {
    bool defined;
    uint8_t symbols[256];                        /* by increasing code */
    uint16_t fast[1 << HUFFMAN_FAST_BITS];       /* length << 8 | symbol; 0: longer code */
    uint32_t limit[HUFFMAN_MAX_BITS + 1];        /* left-aligned to 16 bits, exclusive */
    int32_t symbol_offset[HUFFMAN_MAX_BITS + 1]; /* code of length n → index into symbols */
};

/*
 * Builds the table from DHT's form: counts[n-1] codes of n bits, then the symbols. Returns NULL, or
 * the reason why it is not a baseline table.
 */
const char *huffman_build(struct huffman *table, enum huffman_class class, const uint8_t counts[16],
                          const uint8_t *symbols);

/* The tables of T.81 K.3: number 0 is for luminance, 1 for chrominance. */
void huffman_build_default(struct huffman *table, enum huffman_class class, int number);

/* Takes one code. Returns its symbol, or -1 if no code begins like that. */
static inline int huffman_decode(const struct huffman *table, struct bitreader *r)
{
    uint32_t entry = table->fast[bitreader_peek(r, HUFFMAN_FAST_BITS)];
    uint32_t code;

    if (entry != 0) {
        bitreader_skip(r, (int)(entry >> 8));
        return (int)(entry & 0xff);
    }
    code = bitreader_peek(r, HUFFMAN_MAX_BITS);
    for (int n = HUFFMAN_FAST_BITS + 1; n <= HUFFMAN_MAX_BITS; n++) {
        if (code < table->limit[n]) {
            bitreader_skip(r, n);
            return table
                ->symbols[(int32_t)(code >> (HUFFMAN_MAX_BITS - n)) + table->symbol_offset[n]];
        }
    }
    return -1;
}

#endif
