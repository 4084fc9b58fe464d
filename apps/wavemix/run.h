/* SPDX-License-Identifier: MIT
 *
 * A run of wavemix: a thread for each node of the graph, or one for all, and what was measured.
 */
#ifndef APPS_WAVEMIX_RUN_H
#define APPS_WAVEMIX_RUN_H

#include "gate.h"
#include "place.h"
#include "waves.h"

struct run_settings {
    long samples, warmup; /* warmup samples come first */
    bool serial;          /* one thread computes everything */
    bool affinity;        /* declare the dependencies */
    enum pin pin;
    enum gate_kind sync;
    int policy, priority; /* of all threads: SCHED_OTHER, SCHED_FIFO, SCHED_RR */
};

/* One computation of one node. */
struct span {
    double begin, end; /* seconds since an arbitrary start */
    int place;         /* where it began (place_here) */
};

struct run_result {
    struct span *spans[NODE_COUNT]; /* warmup + samples each */
    double seconds;                 /* from the start of the first sample to the end of the last */
    uint64_t checksum;
};

/* Runs, and fills the result, whose memory run_free releases. */
void run(const struct waves *waves, const struct run_settings *settings, struct run_result *result);
void run_free(struct run_result *result);

/* When the first wave of a sample began. */
double run_sample_begin(const struct run_result *result, size_t sample);

#endif
