/* SPDX-License-Identifier: MIT */
/* report.h - what pirn-sim-model prints: a row for each task, and one for all; by_cpu: one for
 * each CPU before that, then of plan.each one for each sample; counters: more columns, in the rows
 * of samples and in that for all. */
#ifndef PIRN_TESTS_MODEL_REPORT_H
#define PIRN_TESTS_MODEL_REPORT_H

#include "graph.h"

enum report_format { REPORT_TEXT, REPORT_CSV, REPORT_JSON };
extern const char *const report_formats[]; /* ends with NULL */

struct report {
    const struct plan *plan;
    const char *workload, *pin;
    enum report_format format;
    bool by_cpu;
    bool counters; /* in the row of all threads, also the runtime's and the policy's */
    bool more;     /* a row has been printed */
    unsigned ncounters;
};

void report_begin(struct report *r);
void report_run(struct report *r, const struct graph_result *result);
void report_end(struct report *r);

#endif
