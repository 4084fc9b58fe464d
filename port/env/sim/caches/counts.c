/* SPDX-License-Identifier: MIT */
/*
 * counts.c - the counters of the cache model: sums, and misses by level.
 */
#include "caches.h"

void caches_count(struct caches_counts *counts, bool write, const struct caches_outcome *outcome)
{
    counts->from[write][outcome->source]++;
    counts->upgrades += outcome->upgrade;
    counts->invalidated += outcome->invalidated;
    counts->snoops += outcome->snooped;
    counts->prefetched += outcome->prefetched;
    counts->ps += outcome->ps;
}

_Static_assert(sizeof(struct caches_counts) % sizeof(uint64_t) == 0, "all members are counters");
enum { COUNTERS = sizeof(struct caches_counts) / sizeof(uint64_t) };

void caches_counts_add(struct caches_counts *counts, const struct caches_counts *more)
{
    uint64_t *to = (uint64_t *)counts;
    const uint64_t *from = (const uint64_t *)more;
    for (unsigned i = 0; i < COUNTERS; i++) {
        to[i] += from[i];
    }
}

void caches_counts_take(struct caches_counts *counts, const struct caches_counts *less)
{
    uint64_t *to = (uint64_t *)counts;
    const uint64_t *from = (const uint64_t *)less;
    for (unsigned i = 0; i < COUNTERS; i++) {
        to[i] -= from[i];
    }
}

uint64_t caches_misses(const struct caches_counts *counts, bool write, enum caches_source level)
{
    /* Another core of the node is behind its LLC's entry: no miss there. */
    unsigned first = level == CACHES_LLC ? CACHES_FAR : (unsigned)level + 1;
    uint64_t sum = 0;
    for (unsigned i = first; i < CACHES_SOURCES; i++) {
        sum += counts->from[write][i];
    }
    return sum;
}

uint64_t caches_accesses(const struct caches_counts *counts, bool write)
{
    return counts->from[write][CACHES_L1] + caches_misses(counts, write, CACHES_L1);
}
