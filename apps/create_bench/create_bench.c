/* SPDX-License-Identifier: MIT
 *
 * create_bench: in each round, creator threads create children that do nothing; the round ends when
 * all of them have ended. Measures the cost of a thread that does no work: create, first switch,
 * exit, join, and the reuse of its stack.
 *
 * Invariant: only a creator's thread uses its record until main has joined it; a child that never
 * ran makes the total wrong.
 */
#include "check.h"
#include "clock.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

static long rounds = 1024, creators = 160, children = 128; /* constant while threads run */

struct creator {
    pthread_t thread;
    pthread_t *children;
    long ended; /* children joined with the right result, all rounds */
};

/* Returns its argument, which shows the join that it ran. */
static void *child_main(void *arg)
{
    return arg;
}

static void *creator_main(void *arg)
{
    struct creator *c = arg;

    for (long i = 0; i < children; i++)
        thread_start(&c->children[i], child_main, &c->children[i]);
    for (long i = 0; i < children; i++) {
        void *result;

        check_rc(pthread_join(c->children[i], &result), "pthread_join");
        c->ended += result == &c->children[i];
    }
    return NULL;
}

static struct creator *creators_create(void)
{
    struct creator *all = array_alloc((size_t)creators, sizeof *all);

    for (long i = 0; i < creators; i++)
        all[i].children = array_alloc((size_t)children, sizeof *all->children);
    return all;
}

static void run_round(struct creator *all)
{
    for (long i = 0; i < creators; i++)
        thread_start(&all[i].thread, creator_main, &all[i]);
    for (long i = 0; i < creators; i++)
        thread_join(all[i].thread);
}

/* Frees the creators and returns how many children ended in all. */
static long creators_destroy(struct creator *all)
{
    long ended = 0;

    for (long i = 0; i < creators; i++) {
        ended += all[i].ended;
        free(all[i].children);
    }
    free(all);
    return ended;
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("rounds", &rounds, 1, 1000000000, "rounds"),
        option_number("creators", &creators, 1, 100000, "threads that main creates in a round"),
        option_number("children", &children, 1, 100000, "threads that each of these creates"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Creates threads that create threads that do nothing, and waits for all.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    struct creator *all;
    double seconds, threads;
    long ended;

    app_name_set("create_bench");
    parse_arguments(argc, argv);
    all = creators_create();
    seconds = clock_seconds();
    for (long i = 0; i < rounds; i++)
        run_round(all);
    seconds = clock_seconds() - seconds;
    ended = creators_destroy(all);
    if (ended != rounds * creators * children)
        app_die("%ld children ended, not %ld", ended, rounds * creators * children);
    threads = (double)rounds * (double)creators * (double)(children + 1);
    printf("create_bench: rounds=%ld creators=%ld children=%ld threads=%.0f seconds=%.6f "
           "ns_per_thread=%.1f\n",
           rounds, creators, children, threads, seconds, seconds * 1e9 / threads);
    return EXIT_SUCCESS;
}
