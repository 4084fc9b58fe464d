/* SPDX-License-Identifier: MIT
 *
 * Line building (see libu.h). Called by the libu thread, one picture at a time.
 */
#include "libu.h"

#include <string.h>

size_t libu_frame_bytes(const struct jpeg *jpeg)
{
    size_t bytes = 0;

    for (int i = 0; i < jpeg->ncomponents; i++)
        bytes += (size_t)jpeg->component[i].width * (size_t)jpeg->component[i].height;
    return bytes;
}

/* Number of the block, in MCU order, at block position (column, row) of a component. */
static size_t block_at(const struct jpeg *jpeg, const struct component *c, int column, int row)
{
    size_t mcu = (size_t)(row / c->v) * (size_t)jpeg->mcu_columns + (size_t)(column / c->h);
    int within = c->first_block + row % c->v * c->h + column % c->h;

    return mcu * (size_t)jpeg->blocks_per_mcu + (size_t)within;
}

/* The part of one block that lies inside the picture: width × height samples. */
static void copy_block(const uint8_t *block, uint8_t *to, size_t stride, int width, int height)
{
    if (width == 8) /* a constant size turns each copy into one load and store */
        for (int y = 0; y < height; y++)
            memcpy(to + (size_t)y * stride, block + 8 * y, 8);
    else
        for (int y = 0; y < height; y++)
            memcpy(to + (size_t)y * stride, block + 8 * y, (size_t)width);
}

static void build_plane(const struct picture *picture, const struct component *c, uint8_t *plane)
{
    size_t stride = (size_t)c->width;

    for (int y = 0; y < c->height; y += 8)
        for (int x = 0; x < c->width; x += 8) {
            size_t block = block_at(&picture->jpeg, c, x / 8, y / 8);
            int width = c->width - x < 8 ? c->width - x : 8;
            int height = c->height - y < 8 ? c->height - y : 8;

            copy_block(picture->samples + block * BLOCK, plane + (size_t)y * stride + (size_t)x,
                       stride, width, height);
        }
}

void libu_build(const struct picture *picture, uint8_t *frame)
{
    for (int i = 0; i < picture->jpeg.ncomponents; i++) {
        const struct component *c = &picture->jpeg.component[i];

        build_plane(picture, c, frame);
        frame += (size_t)c->width * (size_t)c->height;
    }
}
