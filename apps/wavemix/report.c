/* SPDX-License-Identifier: MIT
 *
 * Statistics and tables of wavemix (see report.h).
 */
#include "report.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

static const double to_us = 1e6;

static double sample_end(const struct run_result *r, size_t sample)
{
    return r->spans[NODE_LAST][sample].end;
}

static double sample_us(const struct run_result *r, size_t sample)
{
    return to_us * (sample_end(r, sample) - run_sample_begin(r, sample));
}

/* The very first sample has none before it. */
static double period_us(const struct run_result *r, size_t sample)
{
    double before = sample > 0 ? sample_end(r, sample - 1) : run_sample_begin(r, sample);

    return to_us * (sample_end(r, sample) - before);
}

static double span_us(const struct span *span)
{
    return to_us * (span->end - span->begin);
}

/* ---- statistics ---- */

double report_a2s(const struct statistics *s)
{
    return s->mean + 2 * s->sigma;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static struct statistics statistics_of(double *values, size_t count)
{
    struct statistics s = {0};
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        s.mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    s.sigma = sqrt(squares / (double)count);
    qsort(values, count, sizeof *values, compare);
    s.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return s;
}

static long migrations_of(const struct span *spans, size_t count)
{
    long migrations = 0;

    for (size_t i = 1; i < count; i++)
        migrations += spans[i].place != spans[i - 1].place;
    return migrations;
}

void report_make(const struct run_settings *settings, const struct run_result *result,
                 struct report *report)
{
    size_t first = (size_t)settings->warmup, count = (size_t)settings->samples;
    double *values = array_alloc(count, sizeof *values);

    for (size_t i = 0; i < count; i++)
        values[i] = sample_us(result, first + i);
    report->sample = statistics_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = period_us(result, first + i);
    report->period = statistics_of(values, count);
    for (size_t node = 0; node < NODE_COUNT; node++) {
        const struct span *spans = result->spans[node] + first;

        for (size_t i = 0; i < count; i++)
            values[i] = span_us(&spans[i]);
        report->nodes[node] = statistics_of(values, count);
        report->migrations[node] = migrations_of(spans, count);
    }
    free(values);
}

/* ---- output ---- */

void report_print_nodes(const struct report *report)
{
    for (size_t i = 0; i < NODE_COUNT; i++) {
        const struct statistics *s = &report->nodes[i];

        printf("wavemix: thread=%s mean_us=%.3f sigma_us=%.3f a2s_us=%.3f median_us=%.3f "
               "migrations=%ld\n",
               wave_nodes[i].name, s->mean, s->sigma, report_a2s(s), s->median,
               report->migrations[i]);
    }
}

static void write_heading(FILE *file)
{
    fprintf(file, "sample,sample_us,period_us");
    for (size_t i = 0; i < NODE_COUNT; i++)
        fprintf(file, ",%s_begin_us,%s_us,%s_%s", wave_nodes[i].name, wave_nodes[i].name,
                wave_nodes[i].name, place_kind());
    fputc('\n', file);
}

static void write_sample(const struct run_result *r, size_t sample, size_t number, FILE *file)
{
    double begin = run_sample_begin(r, sample);

    fprintf(file, "%zu,%.3f,%.3f", number, sample_us(r, sample), period_us(r, sample));
    for (size_t i = 0; i < NODE_COUNT; i++) {
        const struct span *span = &r->spans[i][sample];

        fprintf(file, ",%.3f,%.3f,%d", to_us * (span->begin - begin), span_us(span), span->place);
    }
    fputc('\n', file);
}

void report_write_csv(const struct run_settings *settings, const struct run_result *result,
                      FILE *file)
{
    size_t first = (size_t)settings->warmup, count = (size_t)settings->samples;

    write_heading(file);
    for (size_t i = 0; i < count; i++)
        write_sample(result, first + i, i, file);
}
