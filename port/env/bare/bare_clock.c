/* SPDX-License-Identifier: MIT */
/*
 * bare_clock.c (bare) - nanoseconds from the board's ticks, and back.
 *
 * A tick's time is rounded down; after minutes or more (ratio.h) it may be one above. A time's tick
 * is the first one whose time is not before it: the product, rounded down, is that one or the one
 * before, as the ratio is too large by less than 2^-64.
 */
#include "bare.h"
#include "ratio.h"

#define SECOND_NS 1000000000u

static struct ratio tick_ns, ns_ticks; /* (C) by the first core, before the others begin */

void bare_clock_begin(void)
{
    RT_ASSERT(board_clock_hz() != 0 && port_cpu_self() == NULL);
    tick_ns = ratio_of(SECOND_NS, board_clock_hz());
    ns_ticks = ratio_of(board_clock_hz(), SECOND_NS);
}

uint64_t port_now(void)
{
    return ratio_times(&tick_ns, board_clock());
}

uint64_t bare_clock_at(uint64_t ns)
{
    uint64_t ticks = ratio_times(&ns_ticks, ns);
    RT_ASSERT((ns_ticks.whole | ns_ticks.fraction) != 0); /* bare_clock_begin has run */
    return ticks + (ratio_times(&tick_ns, ticks) < ns);
}
