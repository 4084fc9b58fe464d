/* SPDX-License-Identifier: MIT
 *
 * See latency.h. Up to 2^5 each value has a bucket; above, each power of two has 2^5.
 */
#include "latency.h"

#define SUB (UINT64_C(1) << LATENCY_SUB_BITS)

static unsigned bucket_of(uint64_t ns)
{
    unsigned shift;

    if (ns < SUB)
        return (unsigned)ns;
    shift = 63u - (unsigned)__builtin_clzll(ns) - LATENCY_SUB_BITS;
    return ((shift + 1) << LATENCY_SUB_BITS) + (unsigned)((ns >> shift) - SUB);
}

/* The largest value of a bucket. */
static uint64_t last_of(unsigned bucket)
{
    unsigned shift = bucket >> LATENCY_SUB_BITS;

    if (shift == 0)
        return bucket;
    shift--;
    return (((bucket & (SUB - 1)) + SUB + 1) << shift) - 1;
}

void latency_add(struct latency *l, uint64_t ns)
{
    l->count[bucket_of(ns)]++;
    l->total++;
    if (ns > l->max_ns)
        l->max_ns = ns;
}

void latency_merge(struct latency *into, const struct latency *from)
{
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        into->count[i] += from->count[i];
    into->total += from->total;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
}

uint64_t latency_percentile(const struct latency *l, double share)
{
    double wanted = share * (double)l->total;
    double seen = 0;

    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        seen += (double)l->count[i];
        if (l->count[i] > 0 && seen >= wanted) {
            uint64_t last = last_of(i);

            return last < l->max_ns ? last : l->max_ns;
        }
    }
    return l->max_ns;
}
