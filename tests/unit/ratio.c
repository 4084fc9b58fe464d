/* SPDX-License-Identifier: MIT */
/*
 * ratio.c - the arithmetic of boards' clocks, which has no divisions, against divisions of 128
 * bits: the clocks of all boards and others, up to centuries.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../port/env/bare/ratio.h"

typedef unsigned __int128 wide;

enum { TIMES = 200000 };
#define SECOND_NS 1000000000u

static uint64_t state = 1;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void check(const char *what, uint32_t hz, uint64_t x, uint64_t is, uint64_t from,
                  uint64_t to)
{
    if (is < from || is > to) {
        printf("FAILED %s, %u Hz, of %llu: %llu, not %llu to %llu\n", what, hz,
               (unsigned long long)x, (unsigned long long)is, (unsigned long long)from,
               (unsigned long long)to);
        exit(1);
    }
}

static void clock_of(uint32_t hz)
{
    struct ratio tick_ns = ratio_of(SECOND_NS, hz), ns_ticks = ratio_of(hz, SECOND_NS);
    uint64_t most = UINT64_C(1) << (hz < SECOND_NS / 2 ? 63 : 62); /* ns: 292, or 146, years */
    for (int i = 0; i < TIMES; i++) {
        uint64_t ns = any() % most >> any() % 63;
        uint64_t first = (uint64_t)(((wide)ns * hz + SECOND_NS - 1) / SECOND_NS);
        uint64_t ticks = first - (first > 0 ? any() % 2 : 0); /* at a tick's border */
        uint64_t down = (uint64_t)((wide)ticks * SECOND_NS / hz), is = ratio_times(&tick_ns, ticks);
        check("ns", hz, ticks, is, down, down + (ticks >= UINT64_MAX / hz));
        check("ns after", hz, ticks, ratio_times(&tick_ns, ticks + 1), is, UINT64_MAX);
        uint64_t at = ratio_times(&ns_ticks, ns);
        at += ratio_times(&tick_ns, at) < ns;
        check("tick", hz, ns, at, first - (first > UINT64_MAX / hz), first);
        check("tick not before", hz, ns, ratio_times(&tick_ns, at), ns, UINT64_MAX);
    }
}

int main(void)
{
    static const uint32_t hz[] = {1,         3,         32768,      999999,     1000000,
                                  1193182,   9600000,   10000000,   24000000,   62500000,
                                  66666667,  100000000, 160000000,  160000001,  320000000,
                                  333333333, 999999999, 1000000000, 1000000007, 2147483647};
    for (unsigned i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
        clock_of(hz[i]);
    }
    for (int i = 0; i < TIMES; i++) {
        uint64_t a = any() >> any() % 64, b = any() >> any() % 64;
        uint64_t high = (uint64_t)((wide)a * b >> 64);
        check("upper half", 0, a, ratio_high(a, b), high, high);
    }
    printf("done\n");
    return 0;
}
