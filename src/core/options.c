/* SPDX-License-Identifier: MIT */
/*
 * options.c - see options.h: the table, and the handling of every option by its type. Called once,
 * by rt_start, before any other CPU runs; and earlier by callers that need some options before.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../prof/prof.h"
#include "../trace/trace.h"
#include "options.h"
#include "port_options.h"
#include "port_quota.h"
#include "port_signals.h"
#include "producers.h"
#include "runtime.h"
#include "stats.h"

/* A wrong value ends a program that is linked with the runtime. Where it is preloaded, the user may
 * mean another program of those that share the environment: it is said once. */
static void usage_error(bool said, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void usage_error(bool said, const char *fmt, ...)
{
    static const char ignored[] = "pirn: ignored: ", error[] = "pirn: ";
    bool preloaded = port_preloaded();
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!preloaded || !said) {
        port_write(preloaded ? ignored : error, strlen(preloaded ? ignored : error));
        port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    }
    if (!preloaded) {
        port_exit_now(2);
    }
}

/* Decimal number with an optional K, M or G; false if it is none or above max. */
static bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > UINT64_MAX / 16) {
            return false;
        }
    }
    if (p == text) {
        return false;
    }
    unsigned shift = *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
    if (shift != 0) {
        p++;
    }
    if (*p != '\0' || value > max >> shift) {
        return false;
    }
    *out = value << shift;
    return true;
}

/* Options that no type expresses. */

static int set_cpus(const char *value, const char **why)
{
    uint64_t n;
    (void)why;
    bool automatic = strcmp(value, "auto") == 0;
    if (automatic || strcmp(value, "all") == 0) {
        n = port_cpu_count();
        uint32_t quota = automatic && n > 1 ? port_cpu_quota() : PORT_QUOTA_NONE;
        n = n > quota ? quota : n;
        n = n > RT_MAX_CPUS ? RT_MAX_CPUS : n;
    } else if (!parse_number(value, RT_MAX_CPUS, &n) || n == 0) {
        return -EINVAL;
    }
    rt.ncpu = (unsigned)n;
    return 0;
}

/* Numbers from `least` to `most`, one for each CPU, by commas: store(i, number) for CPU i. */
static int numbers_by_cpu(const char *value, uint64_t least, uint64_t most,
                          void (*store)(unsigned i, unsigned number), const char **why)
{
    static char message[160];
    const char *p = value;
    unsigned n = 0;
    for (bool more = true; more; n++) {
        uint64_t number = 0;
        char text[8] = "";
        size_t length = strcspn(p, ",");
        memcpy(text, p, length < sizeof(text) ? length : 0);
        if (!parse_number(text, most, &number) || number < least) {
            return -EINVAL;
        }
        if (n < rt.ncpu) {
            store(n, (unsigned)number);
        }
        more = p[length] == ',';
        p += length + 1;
    }
    if (n != rt.ncpu) {
        snprintf(message, sizeof(message),
                 "%u numbers, but %u CPUs (option cpus); valid: a number for each CPU", n, rt.ncpu);
        *why = message;
        return -EINVAL;
    }
    return 0;
}

static void capacity_store(unsigned i, unsigned capacity)
{
    if (RT_CAPACITIES) {
        rt.capacity[i] = (uint16_t)capacity;
    }
}

/* "auto", "off", or "1024,1024,256,256". */
static int set_capacities(const char *value, const char **why)
{
    memset(rt.capacity, 0, sizeof(rt.capacity));
    if (strcmp(value, "auto") == 0) {
        return 0;
    }
    bool off = strcmp(value, "off") == 0;
    int error = off ? 0 : numbers_by_cpu(value, 1, PORT_CAPACITY_MAX, capacity_store, why);
    if (error == 0 && !RT_CAPACITIES && !off) {
        *why = "this library treats all CPUs alike; valid: auto, off";
        return -EINVAL;
    }
    for (unsigned i = 0; RT_CAPACITIES && off && i < rt.ncpu; i++) {
        rt.capacity[i] = PORT_CAPACITY_MAX;
    }
    return error;
}

static void node_store(unsigned i, unsigned node)
{
    if (RT_NODES) {
        rt.node[i] = (uint8_t)node;
    }
}

/* "auto", "off", or "0,0,1,1". */
static int set_nodes(const char *value, const char **why)
{
    rt.nodes_given = 0;
    if (strcmp(value, "auto") == 0) {
        return 0;
    }
    bool off = strcmp(value, "off") == 0;
    memset(rt.node, 0, sizeof(rt.node));
    int error = off ? 0 : numbers_by_cpu(value, 0, PORT_NODES_MAX - 1, node_store, why);
    if (error == 0 && !RT_NODES && !off) {
        *why = "this library knows no NUMA nodes; valid: auto, off";
        return -EINVAL;
    }
    rt.nodes_given = (uint16_t)rt.ncpu;
    return error;
}

static int set_preempt(const char *value, const char **why)
{
    uint64_t n;
    (void)why;
    if (strcmp(value, "auto") == 0) {
        rt.preempt = rt_personality.preempt;
        return 0;
    }
    if (!parse_number(value, 1, &n)) {
        return -EINVAL;
    }
    rt.preempt_asked = rt.preempt = n != 0;
    return 0;
}

static int set_dump(const char *value, const char **why)
{
    (void)why;
    rt.dump_signal = strcmp(value, "off") == 0 ? 0 : port_signal_of(value);
    return rt.dump_signal >= 0 ? 0 : -EINVAL;
}

/* The table. */

#define PLACE(variable) .place = &(variable), .size = sizeof(variable)
#define NO_PLACE .place = NULL

#ifdef PIRN_WITHOUT_TRACE
#define TRACE_LACKS "traces"
#define TRACE_PLACE(member) NO_PLACE
#else
#define TRACE_LACKS NULL
#define TRACE_PLACE(member) PLACE(trace_options.member)
#endif
#ifdef PIRN_WITHOUT_PROF
#define PROF_LACKS "the profiler"
#define PROF_PLACE(member) NO_PLACE
#else
#define PROF_LACKS NULL
#define PROF_PLACE(member) PLACE(prof_options.member)
#endif
#ifdef PIRN_WITHOUT_WAITS
#define WAITS_LACKS "profiles of waits"
#define WAITS_PLACE(member) NO_PLACE
#else
#define WAITS_LACKS NULL
#define WAITS_PLACE(member) PLACE(prof_options.member)
#endif
#ifdef PIRN_WITHOUT_AFFINITY
#define AFFINITY_LACKS "task affinity"
#define AFFINITY_PLACE(member) NO_PLACE
#define producers_check_names NULL
#else
#define AFFINITY_LACKS NULL
#define AFFINITY_PLACE(member) PLACE(producers_options.member)
#endif
#ifdef PIRN_WITHOUT_STATS
#define STATS_LACKS "counters"
#define STATS_PLACE(member) NO_PLACE
#define stats_check_output NULL
#else
#define STATS_LACKS NULL
#define STATS_PLACE(member) PLACE(stats_options.member)
#endif

#define OPTION(word, kind, words) .name = #word, .type = OPTION_IS_##kind, .help = (words)
#define RANGE(from, low, high) .deflt = (from), .least = (low), .most = (high)

#define OPTION_FLAG(word, where, from, without, words)                                             \
    {OPTION(word, FLAG, words), RANGE(from, 0, 1), .lacks = (without), where},
#define OPTION_NUMBER(word, where, from, low, high, words)                                         \
    {OPTION(word, NUMBER, words), RANGE(from, low, high), where},
#define OPTION_SIZE(word, where, from, low, high, posix, words)                                    \
    {OPTION(word, SIZE, words), RANGE(from, low, high), .pthread = (posix), where},
#define OPTION_DURATION(word, where, from, low, high, note, words)                                 \
    {OPTION(word, DURATION, words), RANGE(from, low, high), .values = (note), where},
#define OPTION_CHOICE(word, where, from, choices, words)                                           \
    {OPTION(word, CHOICE, words), .deflt = (from), .values = (choices), where},
#define OPTION_TEXT(word, where, check, without, valid, words)                                     \
    {OPTION(word, TEXT, words), .deflt_text = "off", .values = (valid),                            \
     .lacks = (without),        .set = (check),      where},
#define OPTION_NAMES(word, where, check, without, valid, words)                                    \
    {OPTION(word, TEXT, words), .deflt_text = "off", .values = (valid),                            \
     .lacks = (without),        .set = (check),      where,                                        \
     .custom_type = "names"},
#define OPTION_CUSTOM(word, kind, take, from, valid, words)                                        \
    {OPTION(word, CUSTOM, words), .custom_type = (kind), .set = (take), .deflt_text = (from),      \
     .values = (valid)},

const struct rt_option rt_options[] = {
#include "options.def"
    {0}};

/* 4M, 64K, 100 */
static void add_number(struct text *out, uint64_t n)
{
    static const char units[][2] = {"", "K", "M", "G"};
    unsigned unit = 0;
    while (n != 0 && n % 1024 == 0 && unit < 3) {
        n /= 1024;
        unit++;
    }
    text_add(out, "%llu%s", (unsigned long long)n, units[unit]);
}

/* The word with that index in "a|b|c", n bytes; NULL: there are fewer words. */
static const char *choice_at(const char *words, uint64_t index, size_t *n)
{
    for (; *words != '\0'; index--) {
        *n = strcspn(words, "|");
        if (index == 0) {
            return words;
        }
        words += *n + (words[*n] == '|');
    }
    return NULL;
}

/* a, b or c */
static void add_choices(struct text *out, const char *words)
{
    size_t n = 0;
    const char *word;
    for (uint64_t i = 0; (word = choice_at(words, i, &n)) != NULL; i++) {
        const char *before = i == 0 ? "" : word[n] == '\0' ? " or " : ", ";
        text_add(out, "%s%.*s", before, (int)n, word);
    }
}

void options_add_values(struct text *out, const struct rt_option *o)
{
    switch ((enum rt_option_type)o->type) {
    case OPTION_IS_FLAG:
        text_add(out, "0 or 1");
        break;
    case OPTION_IS_NUMBER:
    case OPTION_IS_SIZE:
    case OPTION_IS_DURATION:
        add_number(out, o->least);
        text_add(out, " to ");
        add_number(out, o->most);
        text_add(out, "%s", o->values != NULL ? o->values : "");
        break;
    case OPTION_IS_CHOICE:
        add_choices(out, o->values);
        break;
    case OPTION_IS_TEXT:
    case OPTION_IS_CUSTOM:
        text_add(out, "%s", o->values);
    }
}

void options_add_default(struct text *out, const struct rt_option *o)
{
    if (o->deflt_text != NULL) {
        text_add(out, "%s", o->deflt_text);
    } else if (o->type == OPTION_IS_CHOICE) {
        size_t n = 0;
        const char *word = choice_at(o->values, o->deflt, &n);
        text_add(out, "%.*s", (int)n, word);
    } else {
        add_number(out, o->deflt);
    }
}

/* The variables have 1, 4 or 8 bytes, and several types. One byte: a bool, or an enum where
 * compilers make those small (ARM without an OS). */
static void number_store(const struct rt_option *o, uint64_t n)
{
    uint64_t value = o->type == OPTION_IS_DURATION ? n * 1000 : n;
    uint32_t word = (uint32_t)value;
    uint8_t byte = (uint8_t)value;
    RT_ASSERT(o->place == NULL || o->size == 1 || o->size == 4 || o->size == 8);
    if (o->place != NULL) {
        const void *from = o->size == 1   ? (const void *)&byte
                           : o->size == 4 ? (const void *)&word
                                          : (const void *)&value;
        memcpy(o->place, from, o->size);
    }
}

static int number_set(const struct rt_option *o, const char *value, bool *is_default)
{
    uint64_t n;
    if (o->type == OPTION_IS_CHOICE) {
        int choice = sched_choice(o->values, value);
        if (choice < 0) {
            return -EINVAL;
        }
        n = (uint64_t)choice;
    } else if (!parse_number(value, o->most, &n) || n < o->least) {
        return -EINVAL;
    }
    number_store(o, n);
    *is_default = n == o->deflt;
    return 0;
}

static int text_set(const struct rt_option *o, const char *value, const char **why)
{
    static char message[64];
    bool off = strcmp(value, o->deflt_text) == 0;
    if (o->place == NULL) {
        return 0;
    }
    int error = o->set != NULL && !off ? o->set(value, why) : 0;
    if (error != 0) {
        return error;
    }
    if (value[0] == '\0') {
        *why = "valid: off, or the name of a file";
        return -EINVAL;
    }
    if (strlen(value) >= o->size) {
        snprintf(message, sizeof(message), "the name is too long; valid: up to %u bytes",
                 (unsigned)o->size - 1);
        *why = message;
        return -EINVAL;
    }
    strcpy(o->place, off ? "" : value);
    return 0;
}

static int option_set(const struct rt_option *o, const char *value, const char **why)
{
    static char lacking[96];
    bool is_default = strcmp(value, o->deflt_text != NULL ? o->deflt_text : "") == 0;
    int error;
    if (o->type == OPTION_IS_CUSTOM) {
        return o->set(value, why);
    }
    error = o->type == OPTION_IS_TEXT ? text_set(o, value, why) : number_set(o, value, &is_default);
    if (error == 0 && o->lacks != NULL && !is_default) {
        struct text out = {lacking, sizeof(lacking), 0};
        text_add(&out, "this library is built without %s; valid: ", o->lacks);
        options_add_default(&out, o);
        *why = lacking;
        return -EINVAL;
    }
    return error;
}

static void option_default(const struct rt_option *o)
{
    const char *why = NULL;
    if (o->deflt_text == NULL) {
        number_store(o, o->deflt);
    } else {
        RT_VERIFY(option_set(o, o->deflt_text, &why) == 0);
    }
}

/* The text in a message: why the value is not valid, and what would be. */
static void option_why(struct text *out, const struct rt_option *o, const char *value,
                       const char *why)
{
    text_add(out, "option %s=\"%.64s\"", o->name, value);
    if (why != NULL) {
        text_add(out, ": %s", why);
        return;
    }
    text_add(out, " is not valid; valid: ");
    options_add_values(out, o);
    if (o->type == OPTION_IS_CHOICE) {
        char word[RT_WORD_MAX];
        struct nearest near = nearest_begin(value);
        size_t n = 0;
        const char *at;
        for (uint64_t i = 0; (at = choice_at(o->values, i, &n)) != NULL; i++) {
            snprintf(word, sizeof(word), "%.*s", (int)n, at);
            nearest_look(&near, word);
        }
        nearest_add(out, &near);
    }
}

/* Is the user's value of the option valid, or is there none? Otherwise a text says why. */
static bool option_take(const struct rt_option *o, struct text *out)
{
    const char *value = port_option(o->name);
    const char *why = NULL;
    if (value == NULL) {
        option_default(o);
        return true;
    }
    if (option_set(o, value, &why) == 0) {
        return true;
    }
    option_why(out, o, value, why);
    return false;
}

/* Options are loaded more than once (options_load_of), and again in the child of a fork. */
static bool told[sizeof(rt_options) / sizeof(rt_options[0])];

static void option_load(const struct rt_option *o)
{
    char text[1024] = "";
    struct text out = {text, sizeof(text), 0};
    if (!option_take(o, &out)) {
        bool *once = &told[o - rt_options];
        usage_error(*once, "%s\n", text);
        *once = true;
        option_default(o);
    }
}

const char *options_check(void)
{
    static char text[1024];
    if (at_load_acq(&rt.started) != 0) {
        return "the runtime has started: its options are fixed";
    }
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        struct text out = {text, sizeof(text), 0};
        text[0] = '\0';
        if (!option_take(o, &out)) {
            return text;
        }
    }
    return NULL;
}

void options_load_of(const char *prefix)
{
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        if (strncmp(o->name, prefix, strlen(prefix)) == 0) {
            option_load(o);
        }
    }
}

void options_load(void)
{
    options_check_names();
    options_load_of("");
    if (rt_personality.stack_size != NULL && port_option("stack") == NULL) {
        rt.stack_size = rt_personality.stack_size();
    }
    if (rt.slice_ns < rt.tick_ns && port_option("slice") == NULL) {
        rt.slice_ns = rt.tick_ns;
    }
    if (rt.slice_ns < rt.tick_ns) {
        static bool said;
        usage_error(said,
                    "option slice=\"%llu\": it is shorter than a tick (%llu); valid: at least a "
                    "tick\n",
                    (unsigned long long)(rt.slice_ns / 1000),
                    (unsigned long long)(rt.tick_ns / 1000));
        said = true;
        rt.slice_ns = rt.tick_ns;
    }
    rt.slice_ticks = (uint32_t)((rt.slice_ns + rt.tick_ns - 1) / rt.tick_ns);
    rt.reservoir_grows = PORT_TRIMS && port_option("reservoir") == NULL;
    if (port_option("reservoir") == NULL && rt.reservoir < RT_RESERVOIR_CPU * rt.ncpu) {
        rt.reservoir = RT_RESERVOIR_CPU * rt.ncpu;
    }
    rt.more_searchers = (int32_t)(rt.ncpu / PORT_CPUS_A_SEARCHER);
    uint64_t share = rt.reservoir / (2 * rt.ncpu);
    rt.stack_cache_limit = share > UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}
