/* SPDX-License-Identifier: MIT
 *
 * matmul: a matrix product with a thread per row, or per block of rows. All
 * threads come from main: the plainest fork and join.
 */
#include "check.h"
#include "clock.h"
#include "matrix.h"
#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static long size = 512, threads = 0, repeat = 1; /* constant while threads run */
static struct product product;

struct rows {
    pthread_t thread;
    size_t begin, end;
};

static void *rows_main(void *arg)
{
    const struct rows *rows = arg;

    product_block(&product, rows->begin, rows->end, 0, product.size);
    return NULL;
}

static void multiply(struct rows *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].begin = part_begin(product.size, count, i);
        rows[i].end = part_begin(product.size, count, i + 1);
        thread_start(&rows[i].thread, rows_main, &rows[i]);
    }
    for (size_t i = 0; i < count; i++)
        thread_join(rows[i].thread);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("size", &size, 1, 16384, "rows and columns of the matrices"),
        option_number("threads", &threads, 0, 16384, "threads; 0: one per row"),
        option_number("repeat", &repeat, 1, 1000000, "multiply N times"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Matrix product with a thread per block of rows.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    if (threads == 0 || threads > size)
        threads = size;
}

int main(int argc, char **argv)
{
    struct rows *rows;
    double seconds = 0;
    uint64_t sum = 0;

    app_name_set("matmul");
    parse_arguments(argc, argv);
    product_init(&product, (size_t)size);
    rows = array_alloc((size_t)threads, sizeof *rows);
    for (long i = 0; i < repeat; i++) {
        double start = clock_seconds();

        multiply(rows, (size_t)threads);
        seconds += clock_seconds() - start;
        sum = product_check(&product);
    }
    printf("matmul: size=%ld threads=%ld repeat=%ld seconds=%.6f checksum=%016" PRIx64 "\n", size,
           threads, repeat, seconds, sum);
    free(rows);
    product_fini(&product);
    return EXIT_SUCCESS;
}
