/* SPDX-License-Identifier: MIT */
/*
 * options.c - see options.h. Called once, by rt_start, before any other CPU runs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../prof/prof.h"
#include "cpu.h"
#include "options.h"
#include "port_options.h"
#include "port_signals.h"
#include "stats.h"
#include "text.h"

/* Bytes of the description: what is the library's own, and each registered policy at most. */
#define DESCRIBE_OWN 16384
#define DESCRIBE_REGISTERED 4096

static NORETURN void usage_error(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void usage_error(const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    port_exit_now(2);
}

/* Decimal number with an optional K, M or G; false if it is none or above max. */
static bool parse_size(const char *text, uint64_t max, uint64_t *out)
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

static int set_number(const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
    return parse_size(value, max, out) && *out >= min ? 0 : -EINVAL;
}

static int set_word(const char *value, uint32_t min, uint32_t max, uint32_t *out)
{
    uint64_t n;
    if (set_number(value, min, max, &n) != 0) {
        return -EINVAL;
    }
    *out = (uint32_t)n;
    return 0;
}

/* Microseconds, kept as nanoseconds. */
static int set_microseconds(const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t us;
    if (set_number(value, min, max, &us) != 0) {
        return -EINVAL;
    }
    *out = us * 1000;
    return 0;
}

static int set_flag(const char *value, bool *out)
{
    uint64_t n;
    if (set_number(value, 0, 1, &n) != 0) {
        return -EINVAL;
    }
    *out = n != 0;
    return 0;
}

/* The place of the value among the choices ("a|b|c"). */
static int set_choice(const char *value, const char *choices, int *out)
{
    int choice = sched_choice(choices, value);
    if (choice < 0) {
        return -EINVAL;
    }
    *out = choice;
    return 0;
}

static int set_cpus(const char *value, const char **why)
{
    uint64_t n;
    if (strcmp(value, "all") == 0) {
        n = port_cpu_count();
        n = n > RT_MAX_CPUS ? RT_MAX_CPUS : n;
    } else if (set_number(value, 1, RT_MAX_CPUS, &n) != 0) {
        return -EINVAL;
    }
    (void)why;
    rt.ncpu = (unsigned)n;
    return 0;
}

static int set_stack(const char *value, const char **why)
{
    uint64_t n;
    (void)why;
    if (set_number(value, RT_STACK_MIN, RT_STACK_MAX, &n) != 0) {
        return -EINVAL;
    }
    rt.stack_size = n;
    return 0;
}

static int set_stackfill(const char *value, const char **why)
{
    *why = "this library is built without marks; valid: 0";
    int error = set_flag(value, &rt.stack_fill);
    if (error != 0) {
        *why = NULL;
    }
    return error == 0 && rt.stack_fill && !RT_MARKS ? -EINVAL : error;
}

static int set_reservoir(const char *value, const char **why)
{
    (void)why;
    return set_number(value, 0, RT_RESERVOIR_MAX, &rt.reservoir);
}

static int set_detour(const char *value, const char **why)
{
    (void)why;
    return set_flag(value, &rt.detour);
}

static int set_tls(const char *value, const char **why)
{
    int choice;
    (void)why;
    if (set_choice(value, "auto|own|own-syscall|shared", &choice) != 0) {
        return -EINVAL;
    }
    rt.tls = (enum rt_tls)choice;
    return 0;
}

static int set_spin(const char *value, const char **why)
{
    (void)why;
    return set_microseconds(value, 0, RT_SPIN_MAX, &rt.spin_ns);
}

static int set_preempt(const char *value, const char **why)
{
    (void)why;
    if (strcmp(value, "auto") == 0) {
        rt.preempt = rt_personality.preempt;
        return 0;
    }
    if (set_flag(value, &rt.preempt) != 0) {
        return -EINVAL;
    }
    rt.preempt_asked = rt.preempt;
    return 0;
}

static int set_spares(const char *value, const char **why)
{
    (void)why;
    return set_word(value, 0, 100000, &rt.spares);
}

static int set_deadlock(const char *value, const char **why)
{
    int choice;
    (void)why;
    if (set_choice(value, "report|abort|off", &choice) != 0) {
        return -EINVAL;
    }
    rt.deadlock = (enum rt_deadlock)choice;
    return 0;
}

static int set_dump(const char *value, const char **why)
{
    (void)why;
    rt.dump_signal = strcmp(value, "off") == 0 ? 0 : port_signal_of(value);
    return rt.dump_signal >= 0 ? 0 : -EINVAL;
}

static int set_tick(const char *value, const char **why)
{
    (void)why;
    return set_microseconds(value, RT_TICK_MIN, RT_TICK_MAX, &rt.tick_ns);
}

static int set_sched_option(const struct pirn_policy *policy, char *text, const char **why)
{
    static char message[256];
    struct text out = {message, sizeof(message), 0};
    char *equals = strchr(text, '=');
    const char *value = equals != NULL ? equals + 1 : "";
    if (equals != NULL) {
        *equals = '\0';
    }
    const struct pirn_policy_option *o = policy->options;
    while (o != NULL && o->name != NULL && strcmp(o->name, text) != 0) {
        o++;
    }
    *why = message;
    if (o == NULL || o->name == NULL) {
        text_add(&out, "%s has no option \"%.64s\"; it has%s", policy->name, text,
                 policy->options != NULL ? ":" : " none");
        for (o = policy->options; o != NULL && o->name != NULL; o++) {
            text_add(&out, " %s=%s", o->name, o->values);
        }
        return -EINVAL;
    }
    text_add(&out, "option %s of %s takes %s, not \"%.64s\"", o->name, policy->name, o->values,
             value);
    if (equals == NULL || (o->values[0] != '<' && sched_choice(o->values, value) < 0)) {
        return -EINVAL;
    }
    return o->set(value, why);
}

static int unknown_sched(const char *name, size_t length, const char **why)
{
    static char message[640];
    struct text out = {message, sizeof(message), 0};
    text_add(&out, "there is no policy \"%.*s\"; there are:", length < 64 ? (int)length : 64, name);
    const struct pirn_policy *known;
    for (unsigned i = 0; (known = sched_at(i)) != NULL; i++) {
        text_add(&out, " %s", known->name);
    }
    if (sched_refusal() != NULL) {
        text_add(&out, "; refused when it was registered: %s", sched_refusal());
    }
    *why = message;
    return -EINVAL;
}

/* "name" or "name:option=value,option=value" */
static int set_sched(const char *value, const char **why)
{
    static char copy[512];
    if (strlen(value) >= sizeof(copy)) {
        return -EINVAL;
    }
    strcpy(copy, value);
    size_t length = strcspn(copy, ":");
    const struct pirn_policy *chosen = sched_find(copy, length);
    if (chosen == NULL) {
        return unknown_sched(copy, length, why);
    }
    for (const struct pirn_policy_option *o = chosen->options; o != NULL && o->name != NULL; o++) {
        o->set(o->deflt, why);
    }
    char *next = copy + length;
    while (*next != '\0') {
        char *text = next + 1;
        next = text + strcspn(text, ",");
        char end = *next;
        *next = '\0';
        int error = set_sched_option(chosen, text, why);
        if (error != 0) {
            return error;
        }
        *next = end;
    }
    sched_use(&rt.policy, chosen);
    return 0;
}

static int set_slice(const char *value, const char **why)
{
    (void)why;
    return set_microseconds(value, RT_TICK_MIN, RT_TICK_MAX, &rt.slice_ns);
}

static int set_tracesize(const char *value, const char **why)
{
    uint64_t bytes;
    (void)why;
    if (set_number(value, 64u << 10, 1u << 30, &bytes) != 0) {
        return -EINVAL;
    }
    trace_set_size(bytes);
    return 0;
}

static int set_tracefull(const char *value, const char **why)
{
    int choice;
    (void)why;
    if (set_choice(value, "oldest|stop", &choice) != 0) {
        return -EINVAL;
    }
    trace_set_full(choice == 1);
    return 0;
}

static int set_profrate(const char *value, const char **why)
{
    uint32_t hz;
    (void)why;
    if (set_word(value, 0, 100000, &hz) != 0) {
        return -EINVAL;
    }
    prof_set_rate(hz);
    return 0;
}

static int set_profclock(const char *value, const char **why)
{
    int choice;
    (void)why;
    if (set_choice(value, "cpu|wall", &choice) != 0) {
        return -EINVAL;
    }
    prof_set_clock(choice == 1);
    return 0;
}

static int set_profframes(const char *value, const char **why)
{
    bool on;
    (void)why;
    if (set_flag(value, &on) != 0) {
        return -EINVAL;
    }
    prof_set_frames(on);
    return 0;
}

static int set_profnodes(const char *value, const char **why)
{
    uint32_t n;
    (void)why;
    if (set_word(value, 64, 64u << 20, &n) != 0) {
        return -EINVAL;
    }
    prof_set_nodes(n);
    return 0;
}

static int set_profthreads(const char *value, const char **why)
{
    uint32_t n;
    (void)why;
    if (set_word(value, 1, 1u << 20, &n) != 0) {
        return -EINVAL;
    }
    prof_set_threads(n);
    return 0;
}

const struct rt_option rt_options[] = {
    {"sched", "spec", RT_SCHED_DEFAULT, "POLICY[:OPTION=VALUE,...]",
     "scheduler policy and its options", set_sched},
    {"cpus", "number", "all", "1 to " RT_TEXT(RT_MAX_CPUS) ", or all",
     "number of CPUs (worker kernel threads)", set_cpus},
    {"stack", "size", "64K", RT_STACK_MIN_TEXT " to 1G",
     "stack of a thread that asks for no size of its own", set_stack},
    {"reservoir", "number", "4096", "0 to 4M", "stacks kept for recycling; 0: none", set_reservoir},
    {"stackfill", "flag", "0", "0 or 1",
     "1: stacks are filled with a pattern, which tells how much of each was used", set_stackfill},
    {"detour", "flag", "0", "0 or 1", "1: a yield passes through the scheduler context",
     set_detour},
    {"spin", "number", "200", "0 to 1000000",
     "microseconds that a CPU searches for work before it sleeps", set_spin},
    {"spares", "number", "10000", "0 to 100000",
     "kernel threads beside the workers, at most, that take over from workers whose thread is in a "
     "system call; 0: a system call keeps its worker",
     set_spares},
    {"preempt", "flag", "auto", "auto, 0 or 1",
     "1: a thread that runs for a whole tick lets others run; auto: 1 under the pthread API where "
     "threads have thread-local storage of their own",
     set_preempt},
    {"tick", "number", "10000", RT_TICK_VALUES, "microseconds of CPU time between two ticks",
     set_tick},
    {"tls", "choice", "auto", "auto, own, own-syscall or shared",
     "thread-local storage (__thread): own: of each thread; shared: of the worker; auto: own under "
     "the pthread API, shared under the native one; own-syscall: own, but switched by a system "
     "call where an instruction would do",
     set_tls},
    {"slice", "number", "10000", RT_TICK_VALUES ", at least a tick",
     "microseconds that a thread runs before others of its class have their turn (discipline=posix, "
     "shmac)",
     set_slice},
    {"deadlock", "choice", PORT_DEADLOCK, "report, abort or off",
     "when every thread waits and nothing can wake one any more: say who waits for what; abort: and "
     "then abort",
     set_deadlock},
    {"dump", "signal", "off", "off, or a signal like QUIT, USR1, or its number",
     "at this signal, say what each thread does or waits for; the program goes on", set_dump},
    {"trace", "output", "off", "off, or the name of a file, in which %p is the process id",
     "event trace of the run, for pirn trace", trace_set_output},
    {"tracesize", "size", "4M", "64K to 1G", "bytes of the event trace for each CPU",
     set_tracesize},
    {"tracefull", "choice", "oldest", "oldest or stop",
     "what an event trace without room loses: its oldest events, or what comes", set_tracefull},
    {"prof", "output", "off", "off, or the name of a file, in which %p is the process id",
     "profile of the run, for pirn prof", prof_set_output},
    {"profrate", "number", "100", "0 to 100000",
     "samples of each CPU in a second; 0: only calls are counted (-finstrument-functions)",
     set_profrate},
    {"profclock", "choice", "cpu", "cpu or wall",
     "what the rate of samples counts: the time that a CPU executes for, or all time, which may end "
     "calls early that sleep (EINTR)",
     set_profclock},
    {"profframes", "flag", "0", "0 or 1",
     "1: samples follow frame pointers (-fno-omit-frame-pointer), where no calls are counted",
     set_profframes},
    {"profnodes", "number", "64K", "64 to 64M", "different ways to functions in a profile, at most",
     set_profnodes},
    {"profthreads", "number", "1K", "1 to 1M",
     "threads that have a call tree of their own in a profile; later ones share one by function",
     set_profthreads},
    {"stats", "output", "off", "off, text, json:FILE, or prometheus:FILE",
     "counters at the end of the program", stats_set_output},
    {0},
};

static void option_load(const struct rt_option *o)
{
    const char *value = port_option(o->name);
    const char *why = NULL;
    if (value == NULL) {
        value = o->deflt;
    }
    if (o->set(value, &why) == 0) {
        return;
    }
    if (why != NULL) {
        usage_error("pirn: option %s=\"%.64s\": %s\n", o->name, value, why);
    }
    usage_error("pirn: option %s=\"%.64s\" is not valid; valid: %s\n", o->name, value, o->values);
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
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        option_load(o);
    }
    if (rt_personality.stack_size != NULL && port_option("stack") == NULL) {
        rt.stack_size = rt_personality.stack_size();
    }
    if (rt.slice_ns < rt.tick_ns) {
        usage_error(
            "pirn: option slice=\"%llu\": it is shorter than a tick (%llu); valid: at least "
            "a tick\n",
            (unsigned long long)(rt.slice_ns / 1000), (unsigned long long)(rt.tick_ns / 1000));
    }
    rt.slice_ticks = (uint32_t)((rt.slice_ns + rt.tick_ns - 1) / rt.tick_ns);
    uint64_t share = rt.reservoir / (2 * rt.ncpu);
    rt.stack_cache_limit = share > UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

static void emit_member(struct text *out, const char *name, const char *value)
{
    text_add(out, ",\"%s\":", name);
    text_add_json(out, value != NULL ? value : "", value != NULL ? strlen(value) : 0);
}

static void emit_values(struct text *out, const char *values)
{
    text_add(out, ",\"values\":[");
    for (const char *p = values; values[0] != '<' && *p != '\0';) {
        size_t n = strcspn(p, "|");
        text_add(out, "%s", p == values ? "" : ",");
        text_add_json(out, p, n);
        p += n + (p[n] == '|');
    }
    text_add(out, "]");
}

static void emit_sched(struct text *out, const struct pirn_policy *policy)
{
    text_add(out, "{\"name\":\"%s\"", policy->name);
    emit_member(out, "help", policy->help);
    text_add(out, ",\"options\":[");
    for (const struct pirn_policy_option *o = policy->options; o != NULL && o->name != NULL; o++) {
        text_add(out, "%s{\"name\":\"%s\"", o == policy->options ? "" : ",", o->name);
        emit_values(out, o->values);
        emit_member(out, "default", o->deflt);
        emit_member(out, "help", o->help);
        text_add(out, "}");
    }
    text_add(out, "]}");
}

bool options_describe_fits(const struct pirn_policy *policy)
{
    struct text out = {NULL, 0, 0};
    emit_sched(&out, policy);
    return out.used <= DESCRIBE_REGISTERED;
}

const char *options_describe(void)
{
    static char json[DESCRIBE_OWN + SCHED_REGISTERED_MAX * (DESCRIBE_REGISTERED + 1)];
    struct text out = {json, sizeof(json), 0};
    text_add(&out, "{\"version\":\"%s\",\"options\":[", RT_VERSION);
    for (const struct rt_option *o = rt_options; o->name != NULL; o++) {
        char env[32] = "PIRN_";
        for (size_t i = 0; o->name[i] != '\0'; i++) {
            env[5 + i] = (char)(o->name[i] - 'a' + 'A');
        }
        text_add(
            &out,
            "%s{\"name\":\"%s\",\"env\":\"%s\",\"type\":\"%s\",\"default\":\"%s\",\"values\":\"%s\",\"help\":\"%s\"}",
            o == rt_options ? "" : ",", o->name, env, o->type, o->deflt, o->values, o->help);
    }
    text_add(&out, "],\"policies\":[");
    const struct pirn_policy *policy;
    for (unsigned i = 0; (policy = sched_at(i)) != NULL; i++) {
        text_add(&out, "%s", i == 0 ? "" : ",");
        emit_sched(&out, policy);
    }
    text_add(&out, "]}");
    RT_VERIFY(out.used < sizeof(json));
    return json;
}
