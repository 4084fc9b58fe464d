/* SPDX-License-Identifier: MIT
 *
 * Times of many messages, for percentiles: a histogram whose steps are 1/32 of the
 * value, so that a percentile is at most 3 % too high. Used by load.c; not locked:
 * each thread has its own, and they are added at the end.
 */
#ifndef APPS_ECHO_LATENCY_H
#define APPS_ECHO_LATENCY_H

#include <stdint.h>

enum { LATENCY_SUB_BITS = 5, LATENCY_BUCKETS = (64 - LATENCY_SUB_BITS + 1) << LATENCY_SUB_BITS };

struct latency {
    uint64_t count[LATENCY_BUCKETS];
    uint64_t total;
    uint64_t max_ns;
};

void latency_add(struct latency *l, uint64_t ns);
void latency_merge(struct latency *into, const struct latency *from);

/* Nanoseconds that `share` (0 … 1) of the times do not exceed; 0 if there are none. */
uint64_t latency_percentile(const struct latency *l, double share);

#endif
