/* SPDX-License-Identifier: MIT
 *
 * blackscholes: prices of options, computed by threads that share nothing (after the program of
 * that name in PARSEC). Each thread takes an equal part of the options and computes it --runs
 * times.
 *
 * Exit status 0: all prices agree with the file's reference values; 1: one does not, or bad input;
 * 2: wrong command line.
 */
#include "check.h"
#include "checksum.h"
#include "clock.h"
#include "options.h"
#include "portfolio.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 100000, MOST_RUNS = 1000000000 };
#define LARGEST_ERROR 1e-4 /* PARSEC's */

struct part {
    pthread_t thread;
    size_t first, end;
};

/* Constant while threads run, except that each thread writes its own part of the prices. */
static struct portfolio portfolio;
static float *prices;
static long runs = 100;

static void *part_main(void *arg)
{
    const struct part *part = arg;

    for (long run = 0; run < runs; run++)
        for (size_t i = part->first; i < part->end; i++) {
            prices[i] = option_price(&portfolio.options[i]);
            __asm__ volatile("" ::: "memory"); /* keeps each run */
        }
    return NULL;
}

static long threads_of(long wanted)
{
    if ((size_t)wanted <= portfolio.count)
        return wanted;
    fprintf(stderr, "%s: %zu options: %zu threads, not %ld\n", app_name(), portfolio.count,
            portfolio.count, wanted);
    return (long)portfolio.count;
}

static double compute(long threads)
{
    struct part *parts = array_alloc((size_t)threads, sizeof *parts);
    double start = clock_seconds();

    for (long t = 0; t < threads; t++) {
        parts[t].first = (size_t)((uint64_t)portfolio.count * (uint64_t)t / (uint64_t)threads);
        parts[t].end = (size_t)((uint64_t)portfolio.count * (uint64_t)(t + 1) / (uint64_t)threads);
        thread_start(&parts[t].thread, part_main, &parts[t]);
    }
    for (long t = 0; t < threads; t++)
        thread_join(parts[t].thread);
    free(parts);
    return clock_seconds() - start;
}

/* The number of prices that differ from the reference; names the first of them. */
static size_t count_errors(double *largest)
{
    size_t errors = 0;

    *largest = 0;
    for (size_t i = 0; i < portfolio.count; i++) {
        double reference = (double)portfolio.options[i].reference;
        double error = fabs((double)prices[i] - reference);

        if (error > *largest)
            *largest = error;
        if (error < LARGEST_ERROR)
            continue;
        if (errors++ == 0)
            fprintf(stderr, "%s: option %zu: the price is %.6f, its reference value %.6f\n",
                    app_name(), i + 1, (double)prices[i], reference);
    }
    return errors;
}

static uint64_t checksum(void)
{
    uint64_t sum = CHECKSUM_SEED;
    uint32_t bits;

    for (size_t i = 0; i < portfolio.count; i++) {
        memcpy(&bits, &prices[i], sizeof bits);
        sum = checksum_word(sum, bits);
    }
    return sum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("runs", &runs, 1, MOST_RUNS, "how often each price is worked out"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Works out prices of options (file format of PARSEC), compares, writes them.",
        .operand = "THREADS INPUT OUTPUT",
        .options = options,
    };
    double seconds, largest;
    size_t errors;
    char **operands;
    long threads;

    app_name_set("blackscholes");
    operands = options_parse(argc, argv, &page);
    threads = operand_number("THREADS", operands[0], 1, MOST_THREADS);
    if (strcmp(operands[1], operands[2]) == 0)
        app_die("'%.96s' is INPUT and OUTPUT; the prices need another file", operands[1]);
    portfolio_read(&portfolio, operands[1]);
    threads = threads_of(threads);
    prices = array_alloc(portfolio.count, sizeof *prices);
    seconds = compute(threads);
    errors = count_errors(&largest);
    prices_write(operands[2], prices, portfolio.count);
    printf("blackscholes: options=%zu threads=%ld runs=%ld seconds=%.6f errors=%zu "
           "max_error=%.3g checksum=%016" PRIx64 "\n",
           portfolio.count, threads, runs, seconds, errors, largest, checksum());
    free(prices);
    free(portfolio.options);
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
