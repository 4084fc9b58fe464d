/* SPDX-License-Identifier: MIT
 *
 * main of every micro benchmark in C and C++ except the floor's: finds the row and runs it on a
 * thread of the system.
 */
#include SYS_HEADER

#include "output.h"
#include "rows.h"

#include <sys/resource.h>

static struct arguments args;

/* Those of all systems. */
static const char *const row_names[] = {
    "yield",       "create_join",  "batch",         "fib",     "create_bench", "mutex",
    "pingpong",    "pinned_awake", "pinned_asleep", "barrier", "malloc",       "mutex_contended",
    "mutex_yield", "memory",       "wakeup",        "nqueens", "uts",          "pipeline",
    "sieve",       "producers_4",  "producers_64",  "turns",   "turns_timed",  "crowd",
    "rwlock",      "sleep",        "connections",   NULL};

/* These take no count. */
static const char *const special_names[] = {"memory", "wakeup", "sleep"};

static const struct row *const tables[] = {rows, tree_rows, condition_rows, wait_rows};

#ifdef SYS_SLEEP
#define CAN_SLEEP 1
#else
#define CAN_SLEEP 0
#endif

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct row *row = tables[i]; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

static int is_special(const char *name)
{
    for (size_t i = 0; i < sizeof special_names / sizeof *special_names; i++)
        if (strcmp(special_names[i], name) == 0)
            return 1;
    return 0;
}

static void run_memory(void)
{
    double values[MAX_SAMPLES];

    print_header();
    values[0] = memory_bytes(); /* once: afterwards the stacks exist already */
    print_sample(SYS_NAME, args.row, args.workers, 0, "bytes", values[0]);
    print_median("bytes", values, 1);
}

static void run_wakeup(void)
{
    static const char *const names[] = {"wakeup_p50", "wakeup_p99", "wakeup_p999"};
    static const char *const keys[] = {"p50", "p99", "p999"};
    static double values[3][MAX_SAMPLES];

    print_header();
    for (unsigned i = 0; i < args.samples; i++) {
        struct wakeup w;

        wakeup_run(&w);
        values[0][i] = (double)w.p50;
        values[1][i] = (double)w.p99;
        values[2][i] = (double)w.p999;
        for (int p = 0; p < 3; p++)
            print_sample(SYS_NAME, names[p], args.workers, i, "ns_per_op", values[p][i]);
    }
    for (int p = 0; p < 3; p++)
        print_median(keys[p], values[p], args.samples);
}

static void run_sleep(void)
{
    static const char *const names[] = {"sleep_cpu", "sleep_late_p50", "sleep_late_p99"};
    static const char *const keys[] = {"cpu", "late_p50", "late_p99"};
    static double values[3][MAX_SAMPLES];

    print_header();
    for (unsigned i = 0; i < args.samples; i++) {
        struct sleeps s = {0, 0, 0};

        sys_check(sleep_run(&s), "sleeping");
        values[0][i] = s.cpu;
        values[1][i] = s.late_p50;
        values[2][i] = s.late_p99;
        for (int p = 0; p < 3; p++)
            print_sample(SYS_NAME, names[p], args.workers, i, "ns_per_op", values[p][i]);
    }
    for (int p = 0; p < 3; p++)
        print_median(keys[p], values[p], args.samples);
}

static void body(void *unused)
{
    const struct row *row = find_row(args.row);

    (void)unused;
    if (strcmp(args.row, "memory") == 0)
        run_memory();
    else if (strcmp(args.row, "wakeup") == 0)
        run_wakeup();
    else if (strcmp(args.row, "sleep") == 0)
        run_sleep();
    else
        measure(&args, SYS_NAME, row->unit, row->run);
}

static int lacks_descriptors(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < DESCRIPTORS;
}

/* The reason why the row cannot be run, found before the system starts; or NULL. */
static const char *lacks(void)
{
    int pinned = strncmp(args.row, "pinned_", 7) == 0;

    if (strcmp(args.row, "sleep") == 0 && !CAN_SLEEP)
        return "this system does not have the row";
    if (strcmp(args.row, "connections") == 0 && lacks_descriptors())
        return "takes 19,900 descriptors (ulimit -Hn)";
    if (!is_special(args.row) && find_row(args.row) == NULL)
        return pinned ? "threads cannot be bound to workers" : "this system does not have the row";
    if (pinned && args.workers < 2)
        return "takes two workers";
    return sys_lacks(args.row, args.workers);
}

int main(int argc, char **argv)
{
    const char *why;

    arguments_parse(&args, argc, argv, row_names);
    why = lacks();
    if (why != NULL)
        print_skip(SYS_NAME, args.row, args.workers, why);
    sys_prepare(args.row, args.workers);
    sys_run(body, NULL);
    return 0;
}
