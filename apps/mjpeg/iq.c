/* SPDX-License-Identifier: MIT
 *
 * IQ, inverse quantization, and the way back from zigzag order to rows (T.81
 * A.3.4, A.3.6), in place. Called by the thread that owns the slice.
 */
#include "picture.h"

#include <string.h>

/* Row-order position of the k-th coefficient in zigzag order. */
static const uint8_t zigzag[BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

/* An 8-bit picture has no coefficient outside ±1024 plus half a quantization step.
 * The limit keeps a hostile stream from overflowing the IDCT's 32-bit sums. */
static int16_t clamp_coefficient(int32_t value)
{
    if (value > 2047)
        return 2047;
    return (int16_t)(value < -2047 ? -2047 : value);
}

static void dequantize_block(int16_t *block, const uint16_t *quant)
{
    int16_t rows[BLOCK];

    for (int k = 0; k < BLOCK; k++)
        rows[zigzag[k]] = clamp_coefficient(block[k] * (int32_t)quant[k]);
    memcpy(block, rows, sizeof rows);
}

void iq_dequantize(struct slice *slice)
{
    const struct jpeg *jpeg = &slice->picture->jpeg;
    size_t first = (size_t)slice->mcu_begin * (size_t)jpeg->blocks_per_mcu;
    int16_t *block = slice->picture->coefficients + first * BLOCK;

    for (int mcu = slice->mcu_begin; mcu < slice->mcu_end; mcu++)
        for (int i = 0; i < jpeg->ncomponents; i++) {
            const struct component *c = &jpeg->component[i];

            for (int n = c->h * c->v; n > 0; n--, block += BLOCK)
                dequantize_block(block, jpeg->quant[c->quant]);
        }
}
