/* SPDX-License-Identifier: MIT
 *
 * The product C = A·B that the matmul programs share. Elements are 32-bit numbers
 * and sums wrap, so that every way to compute a product gives the same bits.
 *
 * Invariants: A and B are constant once made; each thread writes its own part of C.
 */
#ifndef APPS_MATMUL_MATRIX_H
#define APPS_MATMUL_MATRIX_H

#include <stddef.h>
#include <stdint.h>

struct product {
    size_t size;
    uint32_t *a;            /* by rows */
    uint32_t *b_transposed; /* by columns of B: an element of C reads two runs */
    uint32_t *c;            /* by rows */
};

/* Part i of `parts` nearly equal parts of 0 … size-1 begins here and ends where
 * part i+1 begins. */
static inline size_t part_begin(size_t size, size_t parts, size_t i)
{
    return size * i / parts;
}

void product_init(struct product *p, size_t size);
void product_fini(struct product *p);

/* Sum of `count` products of elements. */
uint32_t dot(const uint32_t *x, const uint32_t *y, size_t count);

/* Computes C in the given rows and columns, ends exclusive. */
void product_block(struct product *p, size_t row, size_t row_end, size_t column, size_t column_end);

/* Compares the elements of both diagonals, that is two of each row and column, with
 * sums made here one by one; a wrong one ends the process with status 1. Returns a
 * checksum of C, and clears C, so that the next repetition cannot pass with old results. */
uint64_t product_check(struct product *p);

#endif
