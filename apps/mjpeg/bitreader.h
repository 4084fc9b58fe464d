/* SPDX-License-Identifier: MIT
 *
 * Reads bits from the entropy-coded bytes of one restart interval. Stuffed zeros
 * (0xFF 0x00, T.81 B.1.1.5) are dropped here. Behind the end it delivers zero
 * bits and remembers how many, so that the decoder needs one check per block
 * instead of one per bit.
 *
 * Invariants:
 *  1. The top `count` bits of `bits` are unread; all bits below them are zero.
 *  2. The last `padding` bits handed out or waiting in `bits` are not from the stream.
 *  3. In [next, end) every 0xFF is followed by a 0x00 (scan.c saw to it).
 */
#ifndef APPS_MJPEG_BITREADER_H
#define APPS_MJPEG_BITREADER_H

#include <stdbool.h>
#include <stdint.h>

struct bitreader {
    const uint8_t *next, *end;
    uint64_t bits;
    int count;
    int padding;
};

static inline void bitreader_init(struct bitreader *r, const uint8_t *begin, const uint8_t *end)
{
    *r = (struct bitreader){.next = begin, .end = end};
}

/* Makes at least 32 bits available: one Huffman code (16) and its value (at most 11). */
static inline void bitreader_fill(struct bitreader *r)
{
    if (r->count >= 32)
        return;
    while (r->count <= 56) {
        uint64_t byte = 0;

        if (r->next < r->end) {
            byte = *r->next++;
            if (byte == 0xff)
                r->next++;
        } else {
            r->padding += 8;
        }
        r->bits |= byte << (56 - r->count);
        r->count += 8;
    }
}

/* The next n bits (1 … 32) without taking them; bitreader_fill comes first. */
static inline uint32_t bitreader_peek(const struct bitreader *r, int n)
{
    return (uint32_t)(r->bits >> (64 - n));
}

static inline void bitreader_skip(struct bitreader *r, int n)
{
    r->bits <<= n;
    r->count -= n;
}

/* True if bits were taken that the stream does not have. */
static inline bool bitreader_overrun(const struct bitreader *r)
{
    return r->count < r->padding;
}

/* Whole bytes left; up to seven bits may remain, they fill the last byte. */
static inline long bitreader_bytes_left(const struct bitreader *r)
{
    return (r->end - r->next) + (r->count - r->padding) / 8;
}

/* About where the reader stands: exact to the byte unless stuffing is near. */
static inline const uint8_t *bitreader_position(const struct bitreader *r)
{
    int unread = r->count - r->padding;

    return r->next - (unread > 0 ? unread / 8 : 0);
}

#endif
