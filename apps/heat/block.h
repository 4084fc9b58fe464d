/* SPDX-License-Identifier: MIT
 *
 * A block of the plate, with the values of its neighbours' edges around it.
 */
#ifndef APPS_HEAT_BLOCK_H
#define APPS_HEAT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

struct block {
    size_t row, column;     /* of the plate, of its first point */
    size_t rows, columns;   /* points */
    double *values;         /* (rows + 2) lines of (columns + 2) points */
    double *send, *receive; /* a column */
};

enum side { UP, LEFT, DOWN, RIGHT, SIDES };

/* Part `i` of `count` of `size` points: where it begins. */
size_t part_begin(size_t size, size_t count, size_t i);

/* The plate is `size` points high and wide; its upper edge is hot. */
void block_init(struct block *block, size_t size);
void block_free(struct block *block);

/* One step: each point becomes the mean of its neighbours, row by row. */
void block_sweep(struct block *block);

/* The own points at a side, and the neighbour's, as an array. */
size_t block_edge_length(const struct block *block, enum side side);
const double *block_edge(struct block *block, enum side side);
void block_set_halo(struct block *block, enum side side, const double *values);

/* A number that depends on each value and its place, bit by bit; those of blocks add up to that of
 * the plate. */
uint64_t block_sum(const struct block *block, size_t size);

#endif
