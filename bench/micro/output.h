/* SPDX-License-Identifier: MIT
 *
 * Command line and output, the same for every program of the micro benchmarks:
 *
 *   micro-X --row ROW [--workers W] [--samples N] [--quick]
 *
 *   system,row,workers,sample,ns_per_op,bytes     one line a sample, one of the last two empty
 *   # ns_per_op=MEDIAN                            last, for `pirn bench` (p50, p99, p999, bytes)
 *
 * Status 77 and "# skipped: why" if the system has no such row.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdint.h>

#define STATUS_SKIP 77
#define SAMPLE_NS 30000000u
#define QUICK_NS 1000000u
#define MAX_SAMPLES 1000

struct arguments {
    const char *row;
    unsigned workers, samples;
    uint64_t sample_ns; /* least duration of a sample */
};

#ifdef __cplusplus
extern "C" {
#endif

/* rows: their names, NULL at the end. Ends the program with status 2 when the command line is
 * wrong. */
void arguments_parse(struct arguments *args, int argc, char **argv, const char *const *rows);

/* The header line, before the first sample. */
void print_header(void);

/* unit is "ns_per_op" or "bytes". */
void print_sample(const char *system, const char *row, unsigned workers, unsigned sample,
                  const char *unit, double value);

/* Sorts the values. */
void print_median(const char *key, double *values, unsigned count);

/* Does not return. */
void print_skip(const char *system, const char *row, unsigned workers, const char *why)
    __attribute__((noreturn));

/* Samples of a row that is a time per operation. */
void measure(const struct arguments *args, const char *system, uint64_t unit,
             uint64_t (*run)(uint64_t count));

#ifdef __cplusplus
}
#endif

#endif
