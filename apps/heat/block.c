/* SPDX-License-Identifier: MIT */
#include "block.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define HOT 100.0

size_t part_begin(size_t size, size_t count, size_t i)
{
    return size / count * i + (i < size % count ? i : size % count);
}

static double *line_of(const struct block *block, size_t row)
{
    return &block->values[row * (block->columns + 2)];
}

void block_init(struct block *block, size_t size)
{
    size_t larger = block->rows > block->columns ? block->rows : block->columns;
    block->values = array_alloc((block->rows + 2) * (block->columns + 2), sizeof(double));
    block->send = array_alloc(larger, sizeof(double));
    block->receive = array_alloc(larger, sizeof(double));
    /* The left and right neighbours' points, and beyond the plate, are 0 like all others. */
    for (size_t i = 0; block->row == 0 && i < block->columns + 2 && size != 0; i++)
        line_of(block, 0)[i] = HOT;
}

void block_free(struct block *block)
{
    free(block->values);
    free(block->send);
    free(block->receive);
}

void block_sweep(struct block *block)
{
    size_t width = block->columns + 2;
    for (size_t i = 1; i <= block->rows; i++) {
        double *line = line_of(block, i);
        for (size_t j = 1; j <= block->columns; j++)
            line[j] = 0.25 * (line[j - width] + line[j - 1] + line[j + 1] + line[j + width]);
    }
}

size_t block_edge_length(const struct block *block, enum side side)
{
    return side == UP || side == DOWN ? block->columns : block->rows;
}

const double *block_edge(struct block *block, enum side side)
{
    if (side == UP || side == DOWN)
        return line_of(block, side == UP ? 1 : block->rows) + 1;
    for (size_t i = 0; i < block->rows; i++)
        block->send[i] = line_of(block, i + 1)[side == LEFT ? 1 : block->columns];
    return block->send;
}

void block_set_halo(struct block *block, enum side side, const double *values)
{
    if (side == UP || side == DOWN) {
        double *line = line_of(block, side == UP ? 0 : block->rows + 1);
        memcpy(line + 1, values, block->columns * sizeof(double));
        return;
    }
    for (size_t i = 0; i < block->rows; i++)
        line_of(block, i + 1)[side == LEFT ? 0 : block->columns + 1] = values[i];
}

uint64_t block_sum(const struct block *block, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < block->rows; i++) {
        for (size_t j = 0; j < block->columns; j++) {
            uint64_t bits;
            memcpy(&bits, &line_of(block, i + 1)[j + 1], sizeof(bits));
            sum += bits * (2 * ((block->row + i) * size + block->column + j) + 1);
        }
    }
    return sum;
}
