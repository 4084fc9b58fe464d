/* SPDX-License-Identifier: MIT
 *
 * IDCT, the inverse discrete cosine transform (T.81 A.3.3), and the level shift
 * back to 0…255. Called by the thread that owns the slice.
 *
 * Fixed-point and separable: columns first, then rows, each a sum over
 *     x(i) = 1/2 * (F(0)/sqrt(2) + sum over u of F(u) * cos((2i+1) u pi / 16)),
 * split into even and odd u, which halves the products. Integers only, so that
 * every machine, compiler and schedule gives the same samples.
 *
 * Why nothing overflows: iq.c limits |F| to 2047; one pass multiplies the largest
 * value by at most 2.642 (the sum of the factors above at i = 0). After two passes
 * 2047 * 2.642^2 * 2^(MIDDLE_BITS + FACTOR_BITS) = 1.88e9 < 2^31.
 */
#include "picture.h"

enum {
    FACTOR_BITS = 13, /* fraction of the factors */
    MIDDLE_BITS = 4,  /* fraction kept between the passes */
    /* K<n> = cos(n pi / 16) / 2 in FACTOR_BITS; K4 is also 1/sqrt(2)/2, the factor of F(0) */
    K1 = 4017,
    K2 = 3784,
    K3 = 3406,
    K4 = 2896,
    K5 = 2276,
    K6 = 1567,
    K7 = 799,
};

static int32_t round_shift(int32_t value, int bits)
{
    return (value + (1 << (bits - 1))) >> bits;
}

/* One-dimensional transform; results in 2^FACTOR_BITS. */
static inline void transform8(const int32_t f[8], int32_t x[8])
{
    int32_t f1 = f[1], f3 = f[3], f5 = f[5], f7 = f[7];
    int32_t sum = K4 * (f[0] + f[4]);
    int32_t difference = K4 * (f[0] - f[4]);
    int32_t inner = K6 * f[2] - K2 * f[6];
    int32_t outer = K2 * f[2] + K6 * f[6];
    int32_t even[4] = {sum + outer, difference + inner, difference - inner, sum - outer};
    int32_t odd[4] = {
        K1 * f1 + K3 * f3 + K5 * f5 + K7 * f7,
        K3 * f1 - K7 * f3 - K1 * f5 - K5 * f7,
        K5 * f1 - K1 * f3 + K7 * f5 + K3 * f7,
        K7 * f1 - K5 * f3 + K3 * f5 - K1 * f7,
    };

    for (int i = 0; i < 4; i++) {
        x[i] = even[i] + odd[i];
        x[7 - i] = even[i] - odd[i];
    }
}

/* Most columns hold nothing but their first coefficient; then all results are
 * equal, and the short way gives exactly what transform8 would. */
static void transform_column(const int16_t *in, int32_t *out)
{
    int32_t f[8];
    int32_t x[8];
    int32_t others = 0;

    for (int i = 0; i < 8; i++) {
        f[i] = in[8 * i];
        others |= i > 0 ? f[i] : 0;
    }
    if (others == 0) {
        int32_t flat = round_shift(K4 * f[0], FACTOR_BITS - MIDDLE_BITS);

        for (int i = 0; i < 8; i++)
            out[8 * i] = flat;
        return;
    }
    transform8(f, x);
    for (int i = 0; i < 8; i++)
        out[8 * i] = round_shift(x[i], FACTOR_BITS - MIDDLE_BITS);
}

static uint8_t to_sample(int32_t value)
{
    value += 128;
    if (value < 0)
        return 0;
    return (uint8_t)(value > 255 ? 255 : value);
}

void idct_block(const int16_t coefficients[BLOCK], uint8_t samples[BLOCK])
{
    int32_t middle[BLOCK];

    for (int column = 0; column < 8; column++)
        transform_column(coefficients + column, middle + column);
    for (int row = 0; row < 8; row++) {
        int32_t x[8];

        transform8(middle + 8 * row, x);
        for (int i = 0; i < 8; i++)
            samples[8 * row + i] = to_sample(round_shift(x[i], FACTOR_BITS + MIDDLE_BITS));
    }
}

void idct_transform(struct slice *slice)
{
    const struct picture *picture = slice->picture;
    size_t per_mcu = (size_t)picture->jpeg.blocks_per_mcu;
    size_t end = (size_t)slice->mcu_end * per_mcu;

    for (size_t block = (size_t)slice->mcu_begin * per_mcu; block < end; block++)
        idct_block(picture->coefficients + block * BLOCK, picture->samples + block * BLOCK);
}
