/* SPDX-License-Identifier: MIT
 *
 * matmul_yield: a matrix product whose threads give the processor away with
 * sched_yield after every few multiply-adds: a benchmark for the switch.
 *
 * Yields are counted over a thread's whole work, not per element, so that their
 * number is elements * size / every whatever the sizes are.
 */
#include "check.h"
#include "clock.h"
#include "matrix.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static long size = 256, threads = 0, repeat = 1, every = 64; /* constant while threads run */
static struct product product;

struct rows {
    pthread_t thread;
    size_t begin, end;
    size_t until_yield; /* multiply-adds still to do before the next one */
    uint64_t yields;
};

static void yield(struct rows *rows)
{
    if (sched_yield() != 0)
        check_rc(errno, "sched_yield");
    rows->yields++;
    rows->until_yield = (size_t)every;
}

static uint32_t dot_yielding(struct rows *rows, const uint32_t *x, const uint32_t *y, size_t count)
{
    uint32_t sum = 0;

    while (count > 0) {
        size_t now = count < rows->until_yield ? count : rows->until_yield;

        sum += dot(x, y, now);
        x += now;
        y += now;
        count -= now;
        rows->until_yield -= now;
        if (rows->until_yield == 0)
            yield(rows);
    }
    return sum;
}

static void *rows_main(void *arg)
{
    struct rows *rows = arg;
    size_t n = product.size;

    for (size_t i = rows->begin; i < rows->end; i++)
        for (size_t j = 0; j < n; j++)
            product.c[i * n + j] =
                dot_yielding(rows, &product.a[i * n], &product.b_transposed[j * n], n);
    return NULL;
}

/* Returns the number of yields. */
static uint64_t multiply(struct rows *rows, size_t count)
{
    uint64_t yields = 0;

    for (size_t i = 0; i < count; i++) {
        rows[i].begin = part_begin(product.size, count, i);
        rows[i].end = part_begin(product.size, count, i + 1);
        rows[i].until_yield = (size_t)every;
        rows[i].yields = 0;
        thread_start(&rows[i].thread, rows_main, &rows[i]);
    }
    for (size_t i = 0; i < count; i++) {
        thread_join(rows[i].thread);
        yields += rows[i].yields;
    }
    return yields;
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("size", &size, 1, 16384, "rows and columns of the matrices"),
        option_number("threads", &threads, 0, 16384, "threads; 0: one per row"),
        option_number("every", &every, 1, 1L << 40, "multiply-adds from one yield to the next"),
        option_number("repeat", &repeat, 1, 1000000, "multiply N times"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Matrix product whose threads yield after every few multiply-adds.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    if (threads == 0 || threads > size)
        threads = size;
}

int main(int argc, char **argv)
{
    struct rows *rows;
    uint64_t yields = 0;
    double seconds = 0;
    uint64_t sum = 0;

    app_name_set("matmul_yield");
    parse_arguments(argc, argv);
    product_init(&product, (size_t)size);
    rows = array_alloc((size_t)threads, sizeof *rows);
    for (long i = 0; i < repeat; i++) {
        double start = clock_seconds();

        yields += multiply(rows, (size_t)threads);
        seconds += clock_seconds() - start;
        sum = product_check(&product);
    }
    printf("matmul_yield: size=%ld threads=%ld every=%ld repeat=%ld yields=%" PRIu64
           " seconds=%.6f checksum=%016" PRIx64 "\n",
           size, threads, every, repeat, yields, seconds, sum);
    free(rows);
    product_fini(&product);
    return EXIT_SUCCESS;
}
