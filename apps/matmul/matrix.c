/* SPDX-License-Identifier: MIT
 *
 * Shared matrix product (see matrix.h).
 */
#include "matrix.h"

#include "check.h"
#include "checksum.h"

#include <stdlib.h>
#include <string.h>

/* Knuth's multiplier, with the high bits folded down: cheap, and no two rows alike. */
static uint32_t element(size_t row, size_t column)
{
    uint32_t x = (uint32_t)(row * 40503u + column) * 2654435761u;

    return x ^ (x >> 15);
}

static uint32_t *matrix_alloc(size_t size)
{
    size_t bytes = size * size * sizeof(uint32_t);

    return check_alloc(malloc(bytes), bytes);
}

void product_init(struct product *p, size_t size)
{
    p->size = size;
    p->a = matrix_alloc(size);
    p->b_transposed = matrix_alloc(size);
    p->c = matrix_alloc(size);
    memset(p->c, 0, size * size * sizeof *p->c);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            p->a[i * size + j] = element(i, j);
            p->b_transposed[j * size + i] = element(size + i, j);
        }
}

void product_fini(struct product *p)
{
    free(p->a);
    free(p->b_transposed);
    free(p->c);
}

uint32_t dot(const uint32_t *x, const uint32_t *y, size_t count)
{
    uint32_t sum = 0;

    for (size_t k = 0; k < count; k++)
        sum += x[k] * y[k];
    return sum;
}

void product_block(struct product *p, size_t row, size_t row_end, size_t column, size_t column_end)
{
    for (size_t i = row; i < row_end; i++)
        for (size_t j = column; j < column_end; j++)
            p->c[i * p->size + j] = dot(&p->a[i * p->size], &p->b_transposed[j * p->size], p->size);
}

/* The definition itself, from the generators: it shares no code with the product that it checks. */
static uint32_t expected(size_t size, size_t row, size_t column)
{
    uint32_t sum = 0;

    for (size_t k = 0; k < size; k++)
        sum += element(row, k) * element(size + k, column);
    return sum;
}

static void check_element(const struct product *p, size_t row, size_t column)
{
    uint32_t found = p->c[row * p->size + column];

    if (found != expected(p->size, row, column))
        app_die("element %zu,%zu of the product is wrong: %u", row, column, found);
}

uint64_t product_check(struct product *p)
{
    size_t total = p->size * p->size;
    uint64_t sum = CHECKSUM_SEED;

    for (size_t i = 0; i < p->size; i++) {
        check_element(p, i, i);
        check_element(p, i, p->size - 1 - i);
    }
    for (size_t at = 0; at < total; at++)
        sum = checksum_word(sum, p->c[at]);
    memset(p->c, 0, total * sizeof *p->c);
    return sum;
}
