/* SPDX-License-Identifier: MIT
 *
 * VLD, variable-length decoding (T.81 F.2.2): bits → quantized coefficients in
 * zigzag order. Called by the thread that owns the slice.
 */
#include "picture.h"

#include <string.h>

/* The value of a code's `bits` extra bits: the upper half of the range is positive,
 * the lower half stands for the negative numbers (T.81 F.2.2.1, EXTEND). */
static int take_value(struct bitreader *r, int bits)
{
    int value;

    if (bits == 0)
        return 0;
    value = (int)bitreader_peek(r, bits);
    bitreader_skip(r, bits);
    return value < 1 << (bits - 1) ? value - (1 << bits) + 1 : value;
}

/* Returns NULL, or the fault. `block` is all zero at the start. */
static const char *decode_block(struct bitreader *r, const struct huffman *dc,
                                const struct huffman *ac, int *predictor, int16_t *block)
{
    int symbol;

    bitreader_fill(r);
    symbol = huffman_decode(dc, r);
    if (symbol < 0)
        return "no DC code begins with these bits";
    *predictor += take_value(r, symbol);
    if (*predictor < -2048 || *predictor > 2047)
        return "the DC coefficient is out of range";
    block[0] = (int16_t)*predictor;
    for (int k = 1; k < BLOCK; k++) {
        bitreader_fill(r);
        symbol = huffman_decode(ac, r);
        if (symbol < 0)
            return "no AC code begins with these bits";
        if (symbol == 0) /* end of block */
            break;
        k += symbol >> 4;
        if (k >= BLOCK)
            return "a block has more than 64 coefficients";
        block[k] = (int16_t)take_value(r, symbol & 15);
    }
    return bitreader_overrun(r) ? "the data ends inside a block" : NULL;
}

static const char *decode_mcu(const struct jpeg *jpeg, struct vld *vld, int16_t *block)
{
    const char *fault = NULL;

    memset(block, 0, (size_t)jpeg->blocks_per_mcu * BLOCK * sizeof *block);
    for (int i = 0; i < jpeg->ncomponents; i++) {
        const struct component *c = &jpeg->component[i];

        for (int n = c->h * c->v; n > 0 && !fault; n--, block += BLOCK)
            fault =
                decode_block(&vld->reader, &jpeg->dc[c->dc], &jpeg->ac[c->ac], &vld->dc[i], block);
    }
    return fault;
}

static void begin_interval(const struct picture *picture, struct vld *vld, int number)
{
    const struct interval *interval = &picture->jpeg.intervals[number];
    const uint8_t *data = picture->stream->data;

    bitreader_init(&vld->reader, data + interval->begin, data + interval->end);
    memset(vld->dc, 0, sizeof vld->dc);
}

bool vld_decode(struct slice *slice, struct jpeg_error *error)
{
    const struct picture *picture = slice->picture;
    const struct jpeg *jpeg = &picture->jpeg;
    struct vld *vld = &slice->vld;

    for (int mcu = slice->mcu_begin; mcu < slice->mcu_end; mcu++) {
        size_t block = (size_t)mcu * (size_t)jpeg->blocks_per_mcu;
        bool last = (mcu + 1) % jpeg->mcus_per_interval == 0 || mcu + 1 == jpeg->mcus;
        const char *fault;

        if (mcu % jpeg->mcus_per_interval == 0)
            begin_interval(picture, vld, mcu / jpeg->mcus_per_interval);
        fault = decode_mcu(jpeg, vld, picture->coefficients + block * BLOCK);
        if (!fault && last && bitreader_bytes_left(&vld->reader) > 0)
            fault = "data is left after the last block before a marker";
        if (fault)
            return jpeg_fail(error,
                             (size_t)(bitreader_position(&vld->reader) - picture->stream->data),
                             "MCU %d: %s", mcu, fault);
    }
    return true;
}
