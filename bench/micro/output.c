/* SPDX-License-Identifier: MIT */
/* output.c - see output.h. */
#include "output.h"

#include "common/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void arguments_parse(struct arguments *args, int argc, char **argv, const char *const *rows)
{
    enum { MAX_WORKERS = 64 };
    long row = -1, workers = 1, samples = 1;
    bool quick = false;
    const struct option_spec options[] = {
        option_choice("row", &row, rows, "the operation to measure"),
        option_number("workers", &workers, 1, MAX_WORKERS, "threads of the system that execute"),
        option_number("samples", &samples, 1, MAX_SAMPLES, "how often"),
        option_flag("quick", &quick, "short samples: does it run?"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "A row of the micro benchmarks, on one system.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    if (row < 0)
        options_refuse("--row is missing");
    *args = (struct arguments){.row = rows[row],
                               .workers = (unsigned)workers,
                               .samples = (unsigned)samples,
                               .sample_ns = quick ? QUICK_NS : SAMPLE_NS};
}

void print_header(void)
{
    puts("system,row,workers,sample,ns_per_op,bytes");
}

void print_sample(const char *system, const char *row, unsigned workers, unsigned sample,
                  const char *unit, double value)
{
    int bytes = strcmp(unit, "bytes") == 0;

    printf("%s,%s,%u,%u,%s%.3f%s\n", system, row, workers, sample, bytes ? "," : "", value,
           bytes ? "" : ",");
    fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void print_median(const char *key, double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    printf("# %s=%.3f\n", key, (values[(count - 1) / 2] + values[count / 2]) / 2);
}

void print_skip(const char *system, const char *row, unsigned workers, const char *why)
{
    printf("# skipped: %s %s with %u: %s\n", system, row, workers, why);
    exit(STATUS_SKIP);
}

/* Finds the count for which a run takes long enough; the runs before it also warm up. */
static uint64_t calibrate(uint64_t least, uint64_t unit, uint64_t (*run)(uint64_t))
{
    uint64_t count = unit, ns = run(unit);

    while (ns < least) {
        double wanted = ns == 0 ? 16 : 1.2 * (double)least / (double)ns;

        count = (uint64_t)((double)count * (wanted < 1.5 ? 1.5 : wanted > 16 ? 16 : wanted)) + unit;
        count -= count % unit;
        ns = run(count);
    }
    return count;
}

void measure(const struct arguments *args, const char *system, uint64_t unit,
             uint64_t (*run)(uint64_t count))
{
    double values[MAX_SAMPLES];
    uint64_t count = calibrate(args->sample_ns, unit, run);

    print_header();
    for (unsigned i = 0; i < args->samples; i++) {
        values[i] = (double)run(count) / (double)count;
        print_sample(system, args->row, args->workers, i, "ns_per_op", values[i]);
    }
    print_median("ns_per_op", values, args->samples);
}
