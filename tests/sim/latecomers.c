/* SPDX-License-Identifier: MIT */
/*
 * latecomers.c - threads that start late: Figures 3.5 and 3.6 of the SHMAC thesis
 * (docs/STATUS.md), tick by tick.
 *
 *     pirn-latecomers           the test
 *     pirn-latecomers --csv     discipline,start,tick,thread: the thread that ran in each tick
 *
 * One CPU; a slice is a tick. Every INTERVAL ticks the running thread makes a new one, THREADS in
 * all; each of them needs WORK ticks. In the thesis the threads have the numbers 17 to 20.
 *
 * Conditions. Under shmac a new thread that starts with the number 0 (start=zero) has the CPU to
 * itself until it has been chosen as often as the others. With its creator's number it shares at
 * once. Under posix it does so in both cases: credit is bounded by a slice.
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "sim.h"

enum { THREADS = 4, INTERVAL = 50, WORK = 200, TICKS = THREADS * WORK, FIRST_NUMBER = 17 };

static struct {
    pirn_thread_t thread[THREADS];
    int ran[TICKS]; /* by tick */
    int made, tick;
} run;

static void *works(void *number);

static void make_next(void)
{
    int number = run.made++;
    if (pirn_create(&run.thread[number], NULL, works, (void *)(intptr_t)number) != 0) {
        sim_fail("thread %d cannot be made", number);
    }
}

static void *works(void *number)
{
    for (int i = 0; i < WORK; i++) {
        run.ran[run.tick++] = (int)(intptr_t)number;
        if (run.tick % INTERVAL == 0 && run.made < THREADS) {
            make_next();
        }
        sim_tick();
    }
    return NULL;
}

static void body(void *unused)
{
    (void)unused;
    memset(&run, 0, sizeof(run));
    make_next();
    for (int i = 0; i < THREADS; i++) {
        pirn_join(run.thread[i], NULL);
    }
}

static void simulate(const char *sched)
{
    struct sim_config config = {.seed = 4, .ncpu = 1, .sched = sched, .preempt = "0"};
    struct sim_result result;
    sim_run(&config, body, NULL, &result);
    if (result.failed || run.tick != TICKS) {
        fprintf(stderr, "FAILED %s: %s\n", sched, result.failed ? result.why : "not all ticks");
        exit(1);
    }
}

/* The number of ticks that a thread had in [from, to). */
static int ticks_of(int thread, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        n += run.ran[i] == thread;
    }
    return n;
}

static void expect(const char *sched, const char *what, int thread, int got, int least, int most)
{
    if (got < least || got > most) {
        fprintf(stderr, "FAILED %s: %s thread %d had %d ticks, not %d to %d\n", sched, what,
                thread + FIRST_NUMBER, got, least, most);
        exit(1);
    }
}

/* The k-th interval, in which threads 0 to k exist. */
static void expect_newest_alone(const char *sched)
{
    for (int k = 1; k < THREADS; k++) {
        int got = ticks_of(k, k * INTERVAL, (k + 1) * INTERVAL);
        expect(sched, "after its start,", k, got, INTERVAL - 2, INTERVAL);
    }
    for (int k = 0; k < THREADS; k++) { /* then all have been chosen equally often */
        int got = ticks_of(k, THREADS * INTERVAL, THREADS * INTERVAL + 200);
        expect(sched, "at the end,", k, got, 200 / THREADS - 2, 200 / THREADS + 2);
    }
}

static void expect_equal_shares(const char *sched)
{
    for (int k = 1; k < THREADS; k++) {
        for (int i = 0; i <= k; i++) {
            int got = ticks_of(i, k * INTERVAL, (k + 1) * INTERVAL), fair = INTERVAL / (k + 1);
            expect(sched, "in an interval,", i, got, fair - 2, fair + 2);
        }
    }
}

static const struct {
    const char *discipline, *start, *sched;
    void (*expected)(const char *sched);
} cases[] = {
    {"shmac", "zero", "single:discipline=shmac,start=zero", expect_newest_alone},
    {"shmac", "creator", "single:discipline=shmac", expect_equal_shares},
    {"posix", "zero", "single:discipline=posix,start=zero", expect_equal_shares},
    {"posix", "creator", "single:discipline=posix", expect_equal_shares},
    {"posix", "creator", "single:discipline=posix,queue=heap", expect_equal_shares},
    {"posix", "creator", "steal:discipline=posix", expect_equal_shares},
    {"shmac", "zero", "steal:discipline=shmac,start=zero", expect_newest_alone},
    {"shmac", "creator", "request:discipline=shmac", expect_equal_shares},
};
enum { SHOWN = 4, CASES = sizeof(cases) / sizeof(cases[0]) };

static void print_csv(void)
{
    printf("discipline,start,tick,thread\n");
    for (int c = 0; c < SHOWN; c++) {
        simulate(cases[c].sched);
        for (int i = 0; i < TICKS; i++) {
            printf("%s,%s,%d,%d\n", cases[c].discipline, cases[c].start, i,
                   run.ran[i] + FIRST_NUMBER);
        }
    }
}

int main(int argc, char **argv)
{
    bool csv = false;
    const struct option_spec options[] = {
        option_flag("csv", &csv, "print which thread ran in each tick"), {0}};
    const struct option_page page = {.summary = "Threads that start late, tick by tick.",
                                     .options = options};
    options_parse(argc, argv, &page);
    if (csv) {
        print_csv();
        return 0;
    }
    for (int c = 0; c < CASES; c++) {
        simulate(cases[c].sched);
        cases[c].expected(cases[c].sched);
    }
    return 0;
}
