/* SPDX-License-Identifier: MIT
 *
 * join_latency: the time from the last action of a thread to the first action of its joiner, when
 * both run on different kernel threads (the workers of a user-level library) or, if each thread is
 * a kernel thread, on different processors.
 *
 * Each time main creates a thread, waits until it runs elsewhere, and joins it. The thread
 * continues for a while (--linger), so that the joiner's CPU goes to sleep or searches for work;
 * then it reads the clock and returns. With --busy main creates a third thread before it joins,
 * which computes until the join has returned. That thread must be on the joiner's CPU when the
 * thread ends. Times that do not meet these conditions are not counted: cross= prints how many do.
 *
 * Words that two threads share without a lock are atomic; the others belong to the ending thread
 * until main has joined it.
 */
#include "check.h"
#include "clock.h"
#include "options.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOWHERE (-1L)
#define PATIENCE_START 1e-3 /* seconds for the thread to run elsewhere; else it may run here */
#define PATIENCE_BUSY 0.05  /* seconds for the third thread to take the joiner's CPU */

enum { BY_WORKER, BY_CPU };

static long joins = 200, linger = 100, by; /* constant while threads run */
static bool busy;

struct ending {
    atomic_bool runs, is_joined, is_over;
    atomic_long joiner_place, busy_place;
    long place; /* where it ended */
    bool meets; /* the third thread was where the joiner had been */
    double ended;
};

struct sample {
    double seconds;
    bool moved; /* the joiner went on where the thread had been */
};

static long place_here(void)
{
    return by == BY_WORKER ? syscall(SYS_gettid) : sched_getcpu();
}

static void spin_until(const atomic_bool *what)
{
    while (!atomic_load(what)) {
    }
}

/* False: not in time. */
static bool spin_until_within(const atomic_bool *what, double seconds)
{
    double end = clock_seconds() + seconds;

    while (!atomic_load(what))
        if (clock_seconds() > end)
            return false;
    return true;
}

static void *nothing_main(void *arg)
{
    return arg;
}

static void *busy_main(void *arg)
{
    struct ending *e = arg;

    while (!atomic_load(&e->is_over)) {
        atomic_store(&e->busy_place, place_here());
        for (int i = 0; i < 1000; i++)
            __asm__ volatile("");
    }
    return NULL;
}

static bool is_met(struct ending *e)
{
    return !busy || atomic_load(&e->busy_place) == atomic_load(&e->joiner_place);
}

static void *ending_main(void *arg)
{
    struct ending *e = arg;
    double start;

    atomic_store(&e->runs, true);
    spin_until(&e->is_joined);
    start = clock_seconds();
    while (clock_seconds() < start + 1e-6 * (double)linger) {
    }
    while (!is_met(e) && clock_seconds() < start + PATIENCE_BUSY) {
    }
    e->meets = is_met(e);
    e->place = place_here();
    e->ended = clock_seconds();
    return NULL;
}

static void start_and_join_one(void)
{
    pthread_t thread;

    thread_start(&thread, nothing_main, NULL);
    thread_join(thread);
}

/* One join; true: it counts. Libraries that assign threads in turn put every second one on the
 * joiner's own CPU. With two threads at a time, one additional thread at every second time shifts
 * the turn. */
static bool measure(long number, struct sample *out)
{
    const bool with_third = busy;
    struct ending e = {.joiner_place = NOWHERE, .busy_place = NOWHERE};
    pthread_t thread, third;
    long before;
    double now;

    if (with_third && number % 2 == 1)
        start_and_join_one();
    thread_start(&thread, ending_main, &e);
    spin_until_within(&e.runs, PATIENCE_START);
    if (with_third)
        thread_start(&third, busy_main, &e);
    before = place_here();
    atomic_store(&e.joiner_place, before);
    atomic_store(&e.is_joined, true);
    thread_join(thread);
    now = clock_seconds();
    *out = (struct sample){.seconds = now - e.ended, .moved = place_here() == e.place};
    atomic_store(&e.is_over, true);
    if (with_third)
        thread_join(third);
    return e.place != before && e.meets;
}

static int compare(const void *a, const void *b)
{
    double x = ((const struct sample *)a)->seconds, y = ((const struct sample *)b)->seconds;

    return (x > y) - (x < y);
}

static void print(struct sample *samples, long cross)
{
    long moved = 0;

    for (long i = 0; i < cross; i++)
        moved += samples[i].moved;
    qsort(samples, (size_t)cross, sizeof *samples, compare);
    printf("join_latency: joins=%ld linger=%ld busy=%d cross=%ld moved=%ld", joins, linger, busy,
           cross, moved);
    if (cross > 0)
        printf(" p50_us=%.3f p90_us=%.3f max_us=%.3f", 1e6 * samples[cross / 2].seconds,
               1e6 * samples[cross * 9 / 10].seconds, 1e6 * samples[cross - 1].seconds);
    putchar('\n');
}

static void parse_arguments(int argc, char **argv)
{
    static const char *const places[] = {"worker", "cpu", NULL};
    const struct option_spec options[] = {
        option_number("joins", &joins, 1, 1000000, "how often"),
        option_number("linger", &linger, 0, 1000000,
                      "microseconds from the join to the end of the thread"),
        {.name = "busy",
         .kind = OPTION_FLAG,
         .help = "a third thread computes in the joiner's place",
         .flag = &busy},
        {.name = "by",
         .kind = OPTION_CHOICE,
         .value_name = "PLACE",
         .help = "what must differ: worker (the kernel thread), or cpu",
         .number = &by,
         .choices = places},
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Measures how soon a join returns when the thread ends elsewhere.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    struct sample *samples;
    long cross = 0;

    app_name_set("join_latency");
    parse_arguments(argc, argv);
    samples = array_alloc((size_t)joins, sizeof *samples);
    for (long i = 0; i < joins; i++)
        cross += measure(i, &samples[cross]);
    print(samples, cross);
    free(samples);
    return EXIT_SUCCESS;
}
