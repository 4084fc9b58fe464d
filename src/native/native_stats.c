/* SPDX-License-Identifier: MIT */
/* native_stats.c - counters for programs (pirn.h). */
#include "stats.h"

#include <pirn/pirn.h>

_Static_assert(sizeof(struct cpu_stats) == sizeof(struct pirn_counters), "pirn_stats");

EXPORT size_t pirn_stats_prometheus(char *text, size_t size)
{
    rt_self();
    return stats_prometheus(text, size);
}

EXPORT void pirn_stats(struct pirn_counters *stats)
{
    stats_sum((struct cpu_stats *)stats);
}
