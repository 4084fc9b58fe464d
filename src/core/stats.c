/* SPDX-License-Identifier: MIT */
/*
 * stats.c - see stats.h. One table of the counters serves the sum, the text and the JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stats.h"

/* Counters of the organization's own (policy.stat), by name, summed over the CPUs. */
#define OWN_MAX 16
struct own {
    struct {
        const char *name;
        uint64_t value;
    } counter[OWN_MAX];
    unsigned n;
};

#define COUNTER(field)                                                                             \
    {                                                                                              \
#field, offsetof(struct cpu_stats, field)                                                  \
    }

static const struct {
    const char *name;
    size_t offset;
} counters[] = {COUNTER(threads),         COUNTER(switches),    COUNTER(steals),
                COUNTER(steal_attempts),  COUNTER(migrations),  COUNTER(kicks),
                COUNTER(sleeps),          COUNTER(idle_ns),     COUNTER(stacks_new),
                COUNTER(stacks_recycled), COUNTER(preemptions), COUNTER(ticks)};

static char output[512];

int stats_set_output(const char *value, const char **why)
{
    (void)why;
    if (strcmp(value, "off") != 0 && strcmp(value, "text") != 0 &&
        (strncmp(value, "json:", 5) != 0 || value[5] == '\0')) {
        return -EINVAL;
    }
    if (strlen(value) >= sizeof(output)) {
        return -EINVAL;
    }
    strcpy(output, value);
    return 0;
}

static uint64_t counter_get(const struct cpu *cpu, unsigned i)
{
    if (counters[i].offset == offsetof(struct cpu_stats, threads)) {
        return at_load_rlx(&cpu->created);
    }
    return STAT_GET((const uint64_t *)((const char *)&cpu->stats + counters[i].offset));
}

void stats_sum(struct cpu_stats *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        uint64_t *to = (uint64_t *)((char *)sum + counters[i].offset);
        for (unsigned c = 0; c < rt.ncpu; c++) {
            *to += counter_get(rt.cpus[c], i);
        }
    }
}

static void own_add(void *to, const char *name, uint64_t value)
{
    struct own *own = to;
    unsigned i = 0;
    while (i < own->n && strcmp(own->counter[i].name, name) != 0) {
        i++;
    }
    if (i == own->n) {
        if (!sched_good_name(name) || own->n == OWN_MAX) {
            RT_PANIC("organization %s: counter \"%.64s\" is badly named, or one of more than %d",
                     rt.policy.name, name, OWN_MAX);
        }
        own->counter[own->n++].name = name;
    }
    own->counter[i].value += value;
}

static size_t stats_format_own(char *text, size_t size, bool json)
{
    struct own own = {.n = 0};
    if (rt.policy.stat == NULL) {
        return 0;
    }
    for (unsigned c = 0; c < rt.ncpu; c++) {
        rt.policy.stat(rt.cpus[c], own_add, &own);
    }
    size_t n = json ? (size_t)snprintf(text, size, ",\"own\":{") : 0;
    for (unsigned i = 0; i < own.n && n < size; i++) {
        const char *before = !json ? rt.policy.name : i != 0 ? "," : "";
        n +=
            (size_t)snprintf(text + n, size - n, json ? "%s\"%s\":%llu" : "pirn: %s.%s %llu\n",
                             before, own.counter[i].name, (unsigned long long)own.counter[i].value);
    }
    n += json && n < size ? (size_t)snprintf(text + n, size - n, "}") : 0;
    return n < size ? n : size - 1;
}

static size_t stats_format(char *text, size_t size, bool json, uint64_t wall)
{
    struct cpu_stats sum;
    stats_sum(&sum);
    size_t n = (size_t)snprintf(text, size,
                                json ? "{\"sched\":\"%s\",\"cpus\":%u,\"wall_ns\":%llu"
                                     : "pirn: sched %s\npirn: cpus %u\npirn: wall_ns %llu\n",
                                rt.policy.name, rt.ncpu, (unsigned long long)wall);
    for (unsigned i = 0; i < ARRAY_SIZE(counters) && n < size; i++) {
        uint64_t value = *(uint64_t *)((char *)&sum + counters[i].offset);
        n += (size_t)snprintf(text + n, size - n, json ? ",\"%s\":%llu" : "pirn: %s %llu\n",
                              counters[i].name, (unsigned long long)value);
    }
    n += n < size ? stats_format_own(text + n, size - n, json) : 0;
    return n < size ? n : size - 1;
}

static size_t stats_format_cpus(char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, ",\"per_cpu\":[");
    for (unsigned c = 0; c < rt.ncpu && n < size; c++) {
        for (unsigned i = 0; i < ARRAY_SIZE(counters) && n < size; i++) {
            n += (size_t)snprintf(text + n, size - n, "%s\"%s\":%llu",
                                  i != 0   ? ","
                                  : c != 0 ? ",{"
                                           : "{",
                                  counters[i].name, (unsigned long long)counter_get(rt.cpus[c], i));
        }
        n += n < size ? (size_t)snprintf(text + n, size - n, "}") : 0;
    }
    n += n < size ? (size_t)snprintf(text + n, size - n, "]}\n") : 0;
    return n < size ? n : size - 1;
}

void stats_report(void)
{
    static char text[131072];
    if (at_load_rlx(&rt.started) != 2 || output[0] == '\0' || strcmp(output, "off") == 0) {
        return;
    }
    bool json = output[0] == 'j';
    size_t n = stats_format(text, sizeof(text), json, port_now() - rt.start_ns);
    n += port_meter_format(text + n, sizeof(text) - n, json);
    if (!json) {
        port_write(text, n);
        return;
    }
    n += stats_format_cpus(text + n, sizeof(text) - n);
    int error = port_file_write(output + 5, text, n);
    if (error != 0) {
        char message[640];
        int length =
            snprintf(message, sizeof(message), "pirn: cannot write counters to \"%s\": %s\n",
                     output + 5, strerror(-error));
        port_write(message, (size_t)length);
    }
}
