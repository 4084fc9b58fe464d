/* SPDX-License-Identifier: MIT
 *
 * master_worker: the main thread creates workers, each of which computes an equal share of a fixed
 * amount of work, and joins them in turn.
 *
 * The work is a chain of steps of a linear congruential generator, which no compiler shortens. The
 * end of a chain can be computed without walking it (jump), so that each worker's result is
 * checked.
 */
#include "check.h"
#include "crowd.h"
#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FACTOR UINT64_C(6364136223846793005)
#define SUMMAND UINT64_C(1442695040888963407)

static long threads = 4, work = 200, repeat = 1; /* constant while threads run */
static uint64_t steps;                           /* of each worker */

struct worker {
    pthread_t thread;
    uint64_t value; /* the worker's; main's before it is created and after the join */
};

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    uint64_t value = w->value;

    for (uint64_t i = 0; i < steps; i++) {
        value = value * FACTOR + SUMMAND;
        __asm__ volatile("" : "+r"(value));
    }
    w->value = value;
    return NULL;
}

/* `count` steps at once: a step is a linear map, and maps are composed by squaring. */
static uint64_t jump(uint64_t value, uint64_t count)
{
    uint64_t factor = FACTOR, summand = SUMMAND;

    for (; count != 0; count >>= 1) {
        if (count & 1)
            value = value * factor + summand;
        summand = summand * factor + summand;
        factor *= factor;
    }
    return value;
}

static void run_round(struct worker *all)
{
    for (long i = 0; i < threads; i++) {
        all[i].value = (uint64_t)i;
        crowd_start(&all[i].thread, worker_main, &all[i], i, threads);
    }
    for (long i = 0; i < threads; i++)
        thread_join(all[i].thread);
}

static void check(const struct worker *all)
{
    for (long i = 0; i < threads; i++)
        if (all[i].value != jump((uint64_t)i, steps))
            app_die("worker %ld of %ld has a wrong result", i + 1, threads);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("threads", &threads, 1, 1000000, "workers"),
        option_number("work", &work, 0, 1000000, "million steps, by all of them together"),
        option_number("repeat", &repeat, 1, 1000000, "how often all of that"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Creates workers, each with an equal share of the work, and joins them.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    steps = (uint64_t)work * 1000000 / (uint64_t)threads;
}

int main(int argc, char **argv)
{
    struct worker *all;
    struct cost cost;

    app_name_set("master_worker");
    parse_arguments(argc, argv);
    all = array_alloc((size_t)threads, sizeof *all);
    cost = cost_now();
    for (long i = 0; i < repeat; i++)
        run_round(all);
    cost = cost_since(cost);
    check(all);
    free(all);
    printf("master_worker: threads=%ld work=%ld repeat=%ld seconds=%.6f cpu_seconds=%.6f "
           "system_seconds=%.6f\n",
           threads, work, repeat, cost.wall, cost.cpu, cost.system);
    return EXIT_SUCCESS;
}
