/* SPDX-License-Identifier: MIT
 *
 * The output of wavemix: statistics of a run, and the times of each sample.
 *
 * A sample's time is from the start of its first wave to the end of its mixer2. Samples overlap, so
 * there is also the period, from the end of one mixer2 to the end of the next: samples leave the
 * program at this rate. Samples of the warm-up are in none of the statistics.
 */
#ifndef APPS_WAVEMIX_REPORT_H
#define APPS_WAVEMIX_REPORT_H

#include "run.h"

#include <stdio.h>

struct statistics {
    double mean, sigma, median; /* microseconds */
};

struct report {
    struct statistics sample, period;
    struct statistics nodes[NODE_COUNT]; /* time that a node computes for a sample */
    long migrations[NODE_COUNT];         /* changes of the place between one sample and the next */
};

/* A2S: the mean, and twice the standard deviation. */
double report_a2s(const struct statistics *statistics);

void report_make(const struct run_settings *settings, const struct run_result *result,
                 struct report *report);

/* A line for each node. */
void report_print_nodes(const struct report *report);

/* A line for each sample, with a heading: its number, its time and period; and of each node when it
 * began, after the start of the sample, how long it computed, and where. Times in microseconds. */
void report_write_csv(const struct run_settings *settings, const struct run_result *result,
                      FILE *file);

#endif
