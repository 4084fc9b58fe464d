/* SPDX-License-Identifier: MIT
 *
 * pirn-kernel status, counters, events, run.
 */
#include "tool.h"

#include "../table/maps.h"
#include "common/name.h"
#include "common/options.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int command_status(int argc, char **argv)
{
    struct option_page page = {.summary = "Says which scheduler is loaded, or why ours ended."};
    struct kernel_end end;
    char name[64];

    options_parse(argc, argv, &page);
    require_sched_ext();
    loaded_scheduler(name, sizeof name);
    if (name[0] != '\0' && is_ours(name))
        printf("loaded: %s\n", name);
    else if (name[0] != '\0')
        printf("another scheduler is loaded: %s\n", name);
    else if (scheduler_ended(&end))
        print_end(stdout, &end);
    else
        printf("not loaded\n");
    return EXIT_SUCCESS;
}

/* ---- counters ---- */

static uint64_t sum_of(int map, uint32_t key, uint64_t *values, int cpus)
{
    uint64_t sum = 0;

    if (map_get(map, &key, values) != 0)
        return 0;
    for (int i = 0; i < cpus; i++)
        sum += values[i];
    return sum;
}

int command_counters(int argc, char **argv)
{
    static const struct {
        const char *word;
        const char *text;
    } table[] = {
#define X(name, word, text) {word, text},
        KERNEL_COUNTER_TABLE(X)
#undef X
    };
    struct option_page page = {.summary = "Prints the counters since the scheduler was loaded."};
    int cpus = libbpf_num_possible_cpus();
    uint64_t *values = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof *values);
    int map;

    options_parse(argc, argv, &page);
    require_privileges();
    map = require_map(KERNEL_COUNTERS);
    if (values == NULL || cpus <= 0)
        app_die("no memory");
    for (uint32_t i = 0; i < KERNEL_COUNTERS_NUMBER; i++)
        printf("%-12s %12" PRIu64 "  %s\n", table[i].word, sum_of(map, i, values, cpus),
               table[i].text);
    free(values);
    close(map);
    return EXIT_SUCCESS;
}

/* ---- events ---- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static const char *const texts[KERNEL_EVENT_KINDS] = {
#define X(name, text) text,
    KERNEL_EVENT_TABLE(X)
#undef X
};

struct watch {
    const char *thread; /* only this name; NULL: all */
    uint64_t start_ns;
    uint64_t printed;
    uint64_t most;
};

/* In a text @ stands for a thread, # for a CPU. */
static void print_text(const struct kernel_event *e)
{
    for (const char *c = texts[e->kind]; *c != '\0'; c++) {
        if (*c == '@')
            printf("%.*s", KERNEL_COMM, e->other_comm);
        else if (*c == '#')
            printf("%u", e->target);
        else
            putchar(*c);
    }
}

static int print_event(void *context, void *data, size_t size)
{
    const struct kernel_event *e = data;
    struct watch *watch = context;

    if (size < sizeof *e || e->kind >= KERNEL_EVENT_KINDS || watch->printed >= watch->most)
        return 0;
    if (watch->thread != NULL && strncmp(watch->thread, e->comm, KERNEL_COMM) != 0)
        return 0;
    if (watch->start_ns == 0)
        watch->start_ns = e->time_ns;
    printf("%10.3f ms  CPU %-2u  %-15.*s  ", (double)(e->time_ns - watch->start_ns) / 1e6, e->cpu,
           KERNEL_COMM, e->comm);
    print_text(e);
    printf("\n");
    watch->printed++;
    return 0;
}

static void want_events(int control, enum kernel_events which)
{
    struct kernel_control value = {.events = which};
    uint32_t zero = 0;

    if (map_put(control, &zero, &value) != 0)
        app_die("the scheduler does not take the wish for events");
}

static bool watching(const struct watch *watch, const struct timespec *begin, double seconds)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return !stopped && watch->printed < watch->most &&
           (seconds <= 0 ||
            (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9 <
                seconds);
}

int command_events(int argc, char **argv)
{
    struct watch watch = {.most = UINT64_MAX};
    double seconds = 0;
    bool all = false;
    const struct option_spec options[] = {
        option_seconds("seconds", &seconds, "how long; 0: until it is interrupted"),
        option_count("number", &watch.most, 1, UINT64_MAX, "end after so many events"),
        option_text("thread", "NAME", &watch.thread, "only of threads with this name"),
        option_flag("all", &all, "of all threads, not of consumers only"),
        {0},
    };
    struct option_page page = {.summary = "Prints what happens to consumers, as it happens.",
                               .options = options};
    struct timespec begin;
    struct ring_buffer *ring;
    int control;

    options_parse(argc, argv, &page);
    require_privileges();
    control = require_map(KERNEL_CONTROL);
    ring = ring_buffer__new(require_map(KERNEL_EVENTS), print_event, &watch, NULL);
    if (ring == NULL)
        app_die("the buffer of events cannot be mapped: %s", strerror(errno));
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    want_events(control, all ? EVENTS_ALL : EVENTS_CONSUMERS);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (watching(&watch, &begin, seconds)) {
        (void)ring_buffer__poll(ring, 100);
        fflush(stdout);
    }
    want_events(control, EVENTS_NONE);
    ring_buffer__free(ring);
    return EXIT_SUCCESS;
}

/* ---- run ---- */

int command_run(int argc, char **argv)
{
    enum { POLICY_EXT = 7 };
    struct sched_param param = {0};

    if (argc < 2 || argv[1][0] == '-')
        options_refuse("PROGRAM is missing: pirn-kernel run PROGRAM [ARGUMENT]...");
    if (syscall(SYS_sched_setscheduler, 0, POLICY_EXT, &param) != 0)
        app_die("policy SCHED_EXT: %s",
                errno == EINVAL ? "this kernel has no sched_ext" : strerror(errno));
    execvp(argv[1], argv + 1);
    fprintf(stderr, "%s: '%s': %s\n", app_name(), argv[1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
