/* SPDX-License-Identifier: MIT */
/*
 * mpi_moved.c - which looks for messages count as having moved data: src/mpi/mpi_moved.c with
 * given times.
 */
#include <stdio.h>

#include "../../src/mpi/mpi_moved.h"

enum { US = 1000, MS = 1000 * US };

static struct mpi_moved m;
static uint64_t now = 5 * MS;
static int failures;

/* A look that begins `pause` ns after the last one. */
static bool look(uint64_t pause, uint64_t took, uint64_t tried, unsigned waiting, bool completed)
{
    uint64_t began = now + pause;
    now = began + took;
    return mpi_moved(&m, began, now, tried, waiting, completed);
}

static void expect(bool moved, uint64_t pause, uint64_t took, unsigned waiting, const char *what)
{
    if (look(pause, took, 0, waiting, false) != moved) {
        fprintf(stderr, "FAILED: %s: %s\n", what, moved ? "counts not" : "counts");
        failures++;
    }
}

static void idle(unsigned waiting, uint64_t took)
{
    for (int i = 0; i < 100; i++) {
        look(100, took + (uint64_t)i % 7 * 10, 0, waiting, false);
    }
}

static void begin(unsigned waiting, uint64_t took)
{
    m = (struct mpi_moved){.usual = 0};
    idle(waiting, took);
}

int main(void)
{
    begin(1, 60);
    expect(false, 100, 80, 1, "a look in vain");
    expect(true, 100, 2500, 1, "a piece of 8 KiB");
    expect(true, 100, 80 * US, 1, "a piece of 170 KB");
    for (int i = 0; i < 10000; i++) { /* .8 s without an end */
        expect(true, 100, 80 * US, 4, "a piece of a long message");
    }
    look(100, 80 * US, 0, 4, true);
    expect(false, 100, 60, 1, "a look after a message");

    expect(false, MS, 3 * US, 1, "a look after a sleep, with cold caches");
    expect(true, MS, 90 * US, 1, "a piece after a sleep");

    begin(1, 280);
    expect(false, 100, 13 * US, 100, "a look for a hundred times as many");
    begin(100, 13 * US);
    expect(false, 100, 300, 1, "a look for fewer");

    begin(1, 60);
    look(MS, 60, 70 * US, 1, false);
    look(MS, 60, 0, 1, false);
    if (!look(100, 60, 70 * US, 1, false)) {
        fprintf(stderr, "FAILED: a piece that a try has moved does not count\n");
        failures++;
    }

    begin(1, 60); /* and then looks become much longer for good */
    unsigned counted = 0;
    while (look(100, 200 * US, 0, 1, false) && counted < 1000000) {
        counted++;
    }
    if (counted < 4000 || counted == 1000000) {
        fprintf(stderr, "FAILED: %u long looks count\n", counted);
        failures++;
    }
    printf("mpi_moved: %d failures\n", failures);
    return failures != 0;
}
