/* SPDX-License-Identifier: MIT */
/*
 * stats.h - counters for people and programs.
 */
#ifndef PIRN_CORE_STATS_H
#define PIRN_CORE_STATS_H

#include <string.h>

#include "cpu.h"

#ifndef PIRN_WITHOUT_STATS

/* Option stats: "" (off), text, json:FILE, prometheus:FILE. */
struct stats_options {
    char output[RT_PATH_MAX];
};
HIDDEN extern struct stats_options stats_options;
int stats_check_output(const char *value, const char **why);

/* Sum over all CPUs; a snapshot while they run. */
void stats_sum(struct cpu_stats *sum);

/* In the Prometheus text format; as snprintf: bytes that it takes, whatever fits. */
size_t stats_prometheus(char *text, size_t size);

/* Write the report that the option asks for; called once at the end of the program. */
void stats_report(void);

#else

ALWAYS_INLINE void stats_report(void) {}

#endif

#endif
