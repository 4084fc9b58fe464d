/* SPDX-License-Identifier: MIT
 *
 * matmul_multilevel: a matrix product by a tree of threads. Main creates one
 * thread per block row, and each of these one thread per block of its row. The
 * leaves pile up at few creators: a benchmark for how work is stolen.
 */
#include "check.h"
#include "clock.h"
#include "matrix.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static long size = 512, threads = 32, children = 32, repeat = 1; /* constant while threads run */
static struct product product;

struct block {
    pthread_t thread;
    size_t row, row_end;
    size_t column, column_end;
};

struct block_row {
    pthread_t thread;
    size_t row, row_end;
    struct block *blocks; /* `children` of them */
};

static void *block_main(void *arg)
{
    const struct block *b = arg;

    product_block(&product, b->row, b->row_end, b->column, b->column_end);
    return NULL;
}

static void *block_row_main(void *arg)
{
    struct block_row *r = arg;
    size_t count = (size_t)children;

    for (size_t i = 0; i < count; i++) {
        struct block *b = &r->blocks[i];

        b->row = r->row;
        b->row_end = r->row_end;
        b->column = part_begin(product.size, count, i);
        b->column_end = part_begin(product.size, count, i + 1);
        thread_start(&b->thread, block_main, b);
    }
    for (size_t i = 0; i < count; i++)
        thread_join(r->blocks[i].thread);
    return NULL;
}

static void multiply(struct block_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].row = part_begin(product.size, count, i);
        rows[i].row_end = part_begin(product.size, count, i + 1);
        thread_start(&rows[i].thread, block_row_main, &rows[i]);
    }
    for (size_t i = 0; i < count; i++)
        thread_join(rows[i].thread);
}

static struct block_row *rows_create(size_t count)
{
    struct block_row *rows = array_alloc(count, sizeof *rows);

    for (size_t i = 0; i < count; i++)
        rows[i].blocks = array_alloc((size_t)children, sizeof *rows->blocks);
    return rows;
}

static void rows_destroy(struct block_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(rows[i].blocks);
    free(rows);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("size", &size, 1, 16384, "rows and columns of the matrices"),
        option_number("threads", &threads, 1, 16384,
                      "threads that main creates, one per block row"),
        option_number("children", &children, 1, 16384, "threads that each of these creates"),
        option_number("repeat", &repeat, 1, 1000000, "multiply N times"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary =
            "Matrix product by a tree of threads: a thread per block row creates its blocks'.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    threads = threads < size ? threads : size;
    children = children < size ? children : size;
}

int main(int argc, char **argv)
{
    struct block_row *rows;
    double seconds = 0;
    uint64_t sum = 0;

    app_name_set("matmul_multilevel");
    parse_arguments(argc, argv);
    product_init(&product, (size_t)size);
    rows = rows_create((size_t)threads);
    for (long i = 0; i < repeat; i++) {
        double start = clock_seconds();

        multiply(rows, (size_t)threads);
        seconds += clock_seconds() - start;
        sum = product_check(&product);
    }
    printf("matmul_multilevel: size=%ld threads=%ld children=%ld repeat=%ld seconds=%.6f "
           "checksum=%016" PRIx64 "\n",
           size, threads, children, repeat, seconds, sum);
    rows_destroy(rows, (size_t)threads);
    product_fini(&product);
    return EXIT_SUCCESS;
}
