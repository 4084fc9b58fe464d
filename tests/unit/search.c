/* SPDX-License-Identifier: MIT */
/*
 * search.c - how long a CPU searches for work (core/search.h): not at all where threads wake up by
 * a period, for the whole time where most waits are short. Without clocks: waits are numbers.
 */
#include <stdio.h>

#include "search.h"

enum { WHOLE = 200000, ROUNDS = 1000 };

static int failures;

static void expect(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

/* One wait for work that comes after `ns`: the CPU finds it, or sleeps. Returns the CPU time of the
 * search. */
static uint64_t wait_for(struct cpu *cpu, uint64_t ns)
{
    uint64_t search = search_lasts(cpu);
    if (ns < search) {
        return ns;
    }
    search_slept(cpu, ns);
    return search;
}

/* The mean search of many waits, whose lengths alternate in the pattern. */
static uint64_t mean(struct cpu *cpu, const uint64_t *pattern, unsigned n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sum += wait_for(cpu, pattern[i % n]);
    }
    return sum / ROUNDS;
}

static void periods(void)
{
    static const uint64_t ms[] = {1000000}, mixed[] = {50000, 950000},
                          third[] = {1000, 1000, 900000};
    struct cpu cpu = {0};
    expect(search_lasts(&cpu) == WHOLE, "the first search is whole");
    expect(mean(&cpu, ms, 1) < WHOLE / 100, "a period of 1 ms: hardly any search");
    expect(search_lasts(&cpu) == 0, "and none at last");
    struct cpu other = {0};
    expect(mean(&other, mixed, 2) < WHOLE / 20, "every other wait is short: little search");
    struct cpu last = {0};
    mean(&last, third, 3);
    expect(search_lasts(&last) >= 1000, "two of three are very short: they are found");
}

static void bursts(void)
{
    struct cpu cpu = {0};
    for (unsigned i = 0; i < 20; i++) {
        wait_for(&cpu, 5000000);
    }
    for (unsigned i = 0; i < RT_SEARCH_CUTS; i++) {
        wait_for(&cpu, 150000);
    }
    expect(search_lasts(&cpu) == WHOLE, "after a few short waits the search is whole");
    for (unsigned i = 0; i < ROUNDS; i++) {
        expect(wait_for(&cpu, 150000) == 150000, "and finds the work");
    }
    wait_for(&cpu, 5000000);
    expect(search_lasts(&cpu) == WHOLE / 4, "one long wait leaves a quarter");
}

static void none(void)
{
    struct cpu cpu = {0};
    rt.spin_ns = 0;
    expect(search_lasts(&cpu) == 0, "spin=0: no search");
    search_slept(&cpu, 10);
    expect(search_lasts(&cpu) == 0, "nor after a wait");
}

int main(void)
{
    rt.spin_ns = WHOLE;
    periods();
    bursts();
    none();
    printf("search: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
