/* SPDX-License-Identifier: MIT
 *
 * join_chain: the main thread creates threads. The first returns at once; each other one joins the
 * thread before it and returns that result plus one; main joins the last. Measures the cost of a
 * join, and how soon a joiner continues.
 *
 * A link's thread is written before the next link is created, and only the next link reads it.
 */
#include "check.h"
#include "crowd.h"
#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long threads = 400, repeat = 1; /* constant while threads run */
static pthread_t *chain;

static intptr_t joined(long index)
{
    void *result;

    check_rc(pthread_join(chain[index], &result), "pthread_join");
    return (intptr_t)result;
}

static void *link_main(void *arg)
{
    intptr_t index = (intptr_t)arg;

    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a thread returns a pointer */
    return (void *)(index == 0 ? 1 : joined(index - 1) + 1);
}

static void run_round(void)
{
    intptr_t length;

    for (long i = 0; i < threads; i++)
        crowd_start(&chain[i], link_main, (void *)(intptr_t)i, i, threads);
    length = joined(threads - 1);
    if (length != threads)
        app_die("the chain has %ld links, not %ld", (long)length, threads);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("threads", &threads, 1, 1000000, "links of the chain"),
        option_number("repeat", &repeat, 1, 1000000, "chains, one after the other"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Creates threads each of which joins the one before it.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    struct cost cost;

    app_name_set("join_chain");
    parse_arguments(argc, argv);
    chain = array_alloc((size_t)threads, sizeof *chain);
    cost = cost_now();
    for (long i = 0; i < repeat; i++)
        run_round();
    cost = cost_since(cost);
    free(chain);
    printf("join_chain: threads=%ld repeat=%ld seconds=%.6f cpu_seconds=%.6f system_seconds=%.6f "
           "ns_per_link=%.1f\n",
           threads, repeat, cost.wall, cost.cpu, cost.system,
           cost.wall * 1e9 / ((double)threads * (double)repeat));
    return EXIT_SUCCESS;
}
