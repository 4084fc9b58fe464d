/* SPDX-License-Identifier: MIT */
/*
 * stats.c - see stats.h. One table of the counters serves the sum and all formats.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "life.h"
#include "mark.h"
#include "port_files.h"
#include "port_tools.h"
#include "runtime.h"
#include "stats.h"
#include "text.h"

/* Counters of the policy's own (policy.stat), by name, summed over the CPUs. */
#define OWN_MAX 16
struct own {
    struct {
        const char *name;
        uint64_t value;
    } counter[OWN_MAX];
    unsigned n;
};

#define COUNTER(field, help)                                                                       \
    {                                                                                              \
#field, help, offsetof(struct cpu_stats, field)                                            \
    }

static const struct {
    const char *name, *help;
    size_t offset;
} counters[] = {COUNTER(threads, "threads created"),
                COUNTER(switches, "switches from one thread to another"),
                COUNTER(steals, "threads taken from other CPUs"),
                COUNTER(steal_attempts, "looks into other CPUs' queues, or requests to them"),
                COUNTER(migrations, "times that a thread ran on another CPU than before"),
                COUNTER(kicks, "sleeping CPUs woken"),
                COUNTER(sleeps, "times that a CPU without work slept"),
                COUNTER(idle_ns, "time without work"),
                COUNTER(stacks_new, "stacks made"),
                COUNTER(stacks_recycled, "threads that got a stack that another one had left"),
                COUNTER(preemptions, "threads that had to make room"),
                COUNTER(handovers,
                        "threads that had to, where they could not be switched: they lost "
                        "their CPU"),
                COUNTER(ticks, "ticks that found a thread running for a whole one")};

#define PROMETHEUS "prometheus:"

struct stats_options stats_options;

static bool names_file(const char *value, const char *format)
{
    size_t n = strlen(format);
    return strncmp(value, format, n) == 0 && value[n] != '\0';
}

int stats_check_output(const char *value, const char **why)
{
    (void)why;
    bool valid =
        strcmp(value, "text") == 0 || names_file(value, "json:") || names_file(value, PROMETHEUS);
    return valid ? 0 : -EINVAL;
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
            RT_PANIC("policy %s: counter \"%.64s\" is badly named, or one of more than %d",
                     rt.policy.name, name, OWN_MAX);
        }
        own->counter[own->n++].name = name;
    }
    own->counter[i].value += value;
}

/* The two formats of a counter: a member of a JSON object, and a line. `of`: what it belongs to. */
static void say_value(struct text *out, bool json, const char *of, const char *name, uint64_t value)
{
    if (!json) {
        text_add(out, "pirn: %s%s%s %llu\n", of, *of != '\0' ? "." : "", name,
                 (unsigned long long)value);
        return;
    }
    text_add_json(out, name, strlen(name));
    text_add(out, ":%llu", (unsigned long long)value);
}

static void say_policy(struct text *out, bool json)
{
    struct own own = {.n = 0};
    if (rt.policy.stat == NULL) {
        return;
    }
    for (unsigned c = 0; c < rt.ncpu; c++) {
        rt.policy.stat(rt.cpus[c], own_add, &own);
    }
    text_add(out, json ? ",\"own\":{" : "");
    for (unsigned i = 0; i < own.n; i++) {
        text_add(out, json && i != 0 ? "," : "");
        say_value(out, json, rt.policy.name, own.counter[i].name, own.counter[i].value);
    }
    text_add(out, json ? "}" : "");
}

/* The stack that was used most, where they are filled. */
static void say_stack(struct text *out, bool json)
{
    const struct stack_most *most = stack_most();
    if (most != NULL) {
        text_add(out,
                 json ? ",\"stack_most\":%zu,\"stack_most_of\":%zu"
                      : "pirn: stack_most %zu of %zu, thread \"%.15s\"\n",
                 most->used, most->size, most->name);
    }
}

static void say_sums(struct text *out, bool json, uint64_t wall)
{
    struct cpu_stats sum;
    stats_sum(&sum);
    text_add(out, json ? "{\"sched\":" : "pirn: sched ");
    if (json) {
        text_add_json(out, rt.policy.name, strlen(rt.policy.name));
    } else {
        text_add(out, "%s\n", rt.policy.name);
    }
    text_add(out, json ? ",\"cpus\":%u,\"wall_ns\":%llu" : "pirn: cpus %u\npirn: wall_ns %llu\n",
             rt.ncpu, (unsigned long long)wall);
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        text_add(out, json ? "," : "");
        say_value(out, json, "", counters[i].name,
                  *(uint64_t *)((char *)&sum + counters[i].offset));
    }
    say_stack(out, json);
    say_policy(out, json);
}

static void say_cpus(struct text *out)
{
    text_add(out, ",\"per_cpu\":[");
    for (unsigned c = 0; c < rt.ncpu; c++) {
        text_add(out, c != 0 ? ",{" : "{");
        for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
            text_add(out, i != 0 ? "," : "");
            say_value(out, true, "", counters[i].name, counter_get(rt.cpus[c], i));
        }
        text_add(out, "}");
    }
    text_add(out, "]}\n");
}

static void say_seconds(struct text *page, uint64_t ns)
{
    text_add(page, "%llu.%09llu\n", (unsigned long long)(ns / 1000000000u),
             (unsigned long long)(ns % 1000000000u));
}

static void say_counter(struct text *page, unsigned i)
{
    bool seconds = counters[i].offset == offsetof(struct cpu_stats, idle_ns);
    char name[64];
    snprintf(name, sizeof(name), "pirn_%s_total", seconds ? "idle_seconds" : counters[i].name);
    text_add(page, "# HELP %s %s\n# TYPE %s counter\n", name, counters[i].help, name);
    for (unsigned c = 0; c < rt.ncpu; c++) {
        uint64_t value = counter_get(rt.cpus[c], i);
        text_add(page, "%s{cpu=\"%u\"} ", name, c);
        if (seconds) {
            say_seconds(page, value);
        } else {
            text_add(page, "%llu\n", (unsigned long long)value);
        }
    }
}

/* Counters of a policy, which alone knows their meaning. Their names have letters, digits, - and _.
 */
static void say_own(struct text *page)
{
    struct own own = {.n = 0};
    for (unsigned c = 0; rt.policy.stat != NULL && c < rt.ncpu; c++) {
        rt.policy.stat(rt.cpus[c], own_add, &own);
    }
    for (unsigned i = 0; i < own.n; i++) {
        char name[64];
        int n = snprintf(name, sizeof(name), "pirn_sched_%s", own.counter[i].name);
        for (int k = 0; k < n && name[k] != '\0'; k++) {
            name[k] = name[k] == '-' ? '_' : name[k];
        }
        text_add(page,
                 "# HELP %s counted by the policy\n# TYPE %s untyped\n%s{sched=\"%s\"} %llu\n",
                 name, name, name, rt.policy.name, (unsigned long long)own.counter[i].value);
    }
}

size_t stats_prometheus(char *text, size_t size)
{
    struct text page = {text, size, 0};
    text_add(&page,
             "# HELP pirn_info what runs\n# TYPE pirn_info gauge\n"
             "pirn_info{version=\"%s\",sched=\"%s\"} 1\n",
             RT_VERSION, rt.policy.name);
    text_add(
        &page,
        "# HELP pirn_cpus CPUs, which are kernel threads on most systems\n# TYPE pirn_cpus gauge\n"
        "pirn_cpus %u\n",
        rt.ncpu);
    text_add(
        &page,
        "# HELP pirn_threads_alive threads that have not ended\n# TYPE pirn_threads_alive gauge\n"
        "pirn_threads_alive %" PRIu32 "\n",
        life_count());
    text_add(&page, "# HELP pirn_uptime_seconds time since the runtime started\n"
                    "# TYPE pirn_uptime_seconds gauge\npirn_uptime_seconds ");
    say_seconds(&page, port_now() - rt.start_ns);
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        say_counter(&page, i);
    }
    say_own(&page);
    return page.used;
}

static void stats_write(const char *path, const char *text, size_t n)
{
    int error = port_file_write(path, text, n);
    if (error != 0) {
        char message[768];
        int length =
            snprintf(message, sizeof(message), "pirn: cannot write counters to \"%s\": %s\n", path,
                     text_file_error(error));
        port_write(message, (size_t)length);
    }
}

/* The length of the text may change meanwhile, by some digits. */
static void stats_report_prometheus(const char *path)
{
    size_t size = 2 * stats_prometheus(NULL, 0);
    char *text = port_table_alloc(size);
    if (text == NULL) {
        static const char message[] = "pirn: no memory for the counters\n";
        port_write(message, sizeof(message) - 1);
        return;
    }
    stats_write(path, text, stats_prometheus(text, size));
    port_table_free(text, size);
}

void stats_report(void)
{
    static char text[131072];
    const char *output = stats_options.output;
    if (at_load_rlx(&rt.started) != 2 || output[0] == '\0') {
        return;
    }
    if (names_file(output, PROMETHEUS)) {
        stats_report_prometheus(output + strlen(PROMETHEUS));
        return;
    }
    bool json = output[0] == 'j';
    struct text out = {text, sizeof(text), 0};
    say_sums(&out, json, port_now() - rt.start_ns);
    RT_VERIFY(out.used < out.size);
    out.used += port_meter_format(out.buffer + out.used, out.size - out.used, json);
    if (!json) {
        port_write(out.buffer, out.used);
        return;
    }
    say_cpus(&out);
    RT_VERIFY(out.used < out.size);
    stats_write(output + 5, out.buffer, out.used);
}
