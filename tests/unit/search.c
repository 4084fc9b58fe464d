/* SPDX-License-Identifier: MIT */
/*
 * search.c - how long a CPU searches for work (core/search.h): not at all where threads wake up by
 * a period, long enough where most waits are short, and never much longer than a sleep costs.
 * Without clocks: waits are numbers.
 */
#include <stdio.h>

#include "search.h"

enum { WHOLE = 200000, SLEEP_COST = WHOLE / 10, ROUNDS = 1000 };

static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

/* One wait for work that comes after `ns`: the CPU finds it, or sleeps, and wakes up `late`
 * afterwards. Returns the CPU time of the search. */
static uint64_t wait_for(struct cpu *cpu, uint64_t ns, uint64_t late)
{
    uint64_t search = search_lasts(cpu);
    if (ns < search) {
        search_found(cpu, ns);
        return ns;
    }
    search_slept(cpu, ns + late, UINT64_MAX);
    return search;
}

/* The same, and what ends the wait is the CPU's own deadline. */
static uint64_t wait_until(struct cpu *cpu, uint64_t ns, uint64_t late)
{
    uint64_t search = search_lasts(cpu);
    if (ns <= search) { /* run.c: the search ends at the deadline */
        search_found(cpu, ns);
        return ns;
    }
    search_slept(cpu, ns + late, ns);
    return search;
}

/* The mean search of many waits, whose lengths alternate in the pattern. */
static uint64_t mean_late(const uint64_t *pattern, unsigned n, uint64_t late)
{
    struct cpu cpu = {0};
    uint64_t sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sum += wait_for(&cpu, pattern[i % n], late);
    }
    return sum / ROUNDS;
}

static uint64_t mean(const uint64_t *pattern, unsigned n)
{
    return mean_late(pattern, n, 5000);
}

static void periods(void)
{
    static const uint64_t ms[] = {1000000}, mixed[] = {100000, 950000},
                          third[] = {1000, 1000, 900000};
    struct cpu cpu = {0};
    expect(search_lasts(&cpu) == WHOLE, "the first search is whole");
    expect(mean(ms, 1) < WHOLE / 100, "a period of 1 ms: hardly any search");
    expect(mean(mixed, 2) < SLEEP_COST, "waits of 100 us and longer: little search");
    expect(mean(third, 3) >= 1000, "two of three are very short: they are found");
    expect(mean(third, 3) < 6000, "without the whole search for the third");
}

/* Threads that wake at times of their own: nobody waits for the CPU to wake up. */
static void deadlines(void)
{
    for (uint64_t late = 1000; late <= 81000; late += 10000) {
        struct cpu cpu = {0};
        uint64_t sum = 0;
        for (unsigned i = 0; i < ROUNDS; i++) {
            sum += wait_until(&cpu, 50000 + i * 7919 % 150000, late);
        }
        expect(sum / ROUNDS < SLEEP_COST / 20, "deadlines after 50 to 200 us: hardly any search");
    }
}

/* Never more than it costs to sleep, and never a sleep where that would cost more. */
static void lengths(void)
{
    for (uint64_t late = 1000; late <= 81000; late += 10000) {
        for (uint64_t ns = 500; ns < 1000000; ns += ns / 8) {
            uint64_t search = mean_late(&ns, 1, late);
            expect(search <= SLEEP_COST * 5 / 4, "a search costs at most what a sleep does");
            expect(ns > SLEEP_COST / 2 || search == ns, "short waits are found");
        }
    }
}

static void changes(void)
{
    struct cpu cpu = {0};
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&cpu, 5000000, 0);
    }
    expect(search_lasts(&cpu) == 0, "long waits: no search");
    for (unsigned i = 0; i < 40; i++) {
        wait_for(&cpu, 5000, 50000);
    }
    expect(wait_for(&cpu, 5000, 50000) == 5000, "after some short waits it finds the next");
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_for(&cpu, 5000, 50000);
    }
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&cpu, 5000000, 0);
    }
    expect(search_lasts(&cpu) == 0, "long waits again: no search");
}

static void none(void)
{
    struct cpu cpu = {0};
    rt.spin_ns = 0;
    expect(search_lasts(&cpu) == 0, "spin=0: no search");
    search_slept(&cpu, 10, UINT64_MAX);
    expect(search_lasts(&cpu) == 0, "nor after a wait");
    search_found(&cpu, 0);
    expect(search_lasts(&cpu) == 0, "nor after work that was there");
}

int main(void)
{
    rt.spin_ns = WHOLE;
    periods();
    deadlines();
    lengths();
    changes();
    none();
    printf("search: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
