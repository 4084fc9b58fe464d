/* SPDX-License-Identifier: MIT
 *
 * main of every micro benchmark in C and C++ except the floor's: finds the row and runs it on a
 * thread of the system.
 */
#include SYS_HEADER

#include "output.h"
#include "rows.h"

static struct arguments args;

/* Those of all systems. */
static const char *const row_names[] = {
    "yield",       "create_join",  "batch",         "fib",     "create_bench", "mutex",
    "pingpong",    "pinned_awake", "pinned_asleep", "barrier", "malloc",       "mutex_contended",
    "mutex_yield", "memory",       "wakeup",        NULL};

static const struct row *find_row(const char *name)
{
    for (const struct row *row = rows; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
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

static void body(void *unused)
{
    const struct row *row = find_row(args.row);

    (void)unused;
    if (strcmp(args.row, "memory") == 0)
        run_memory();
    else if (strcmp(args.row, "wakeup") == 0)
        run_wakeup();
    else
        measure(&args, SYS_NAME, row->unit, row->run);
}

/* The reason why the row cannot be run, found before the system starts; or NULL. */
static const char *lacks(void)
{
    int pinned = strncmp(args.row, "pinned_", 7) == 0;
    int special = strcmp(args.row, "memory") == 0 || strcmp(args.row, "wakeup") == 0;

    if (!special && find_row(args.row) == NULL)
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
