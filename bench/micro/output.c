/* SPDX-License-Identifier: MIT */
/* output.c - see output.h. */
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(const char *program)
{
    fprintf(stderr, "usage: %s --row ROW [--workers 1..64] [--samples 1..%d] [--quick]\n", program,
            MAX_SAMPLES);
    exit(2);
}

static unsigned number(const char *program, const char *text, unsigned max)
{
    char *end;
    long value = text != NULL ? strtol(text, &end, 10) : 0;

    if (text == NULL || *end != '\0' || value < 1 || value > (long)max)
        usage(program);
    return (unsigned)value;
}

void arguments_parse(struct arguments *args, int argc, char **argv)
{
    *args = (struct arguments){.workers = 1, .samples = 1, .sample_ns = SAMPLE_NS};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            args->sample_ns = QUICK_NS;
        else if (strcmp(argv[i], "--row") == 0)
            args->row = argv[++i];
        else if (strcmp(argv[i], "--workers") == 0)
            args->workers = number(argv[0], argv[i + 1], 64), i++;
        else if (strcmp(argv[i], "--samples") == 0)
            args->samples = number(argv[0], argv[i + 1], MAX_SAMPLES), i++;
        else
            usage(argv[0]);
    }
    if (args->row == NULL)
        usage(argv[0]);
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
