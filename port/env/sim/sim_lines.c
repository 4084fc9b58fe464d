/* SPDX-License-Identifier: MIT */
/*
 * sim_lines.c - timed runs: what the runtime's atomics at each cache line cost (sim_timed.h).
 */
#include <string.h>

#include "sim_clock.h"

enum { LINES = 1 << 17 };

static struct sim_line lines[LINES]; /* by a hash of the address; address 0: free */
static unsigned nlines;

void sim_lines_forget(void)
{
    if (nlines != 0) {
        memset(lines, 0, sizeof(lines));
        nlines = 0;
    }
}

void lines_note(uintptr_t address, const struct caches_outcome *outcome)
{
    uintptr_t line = address & ~(uintptr_t)(CACHES_LINE - 1);
    unsigned i = (unsigned)(line * 0x9e3779b97f4a7c15ull >> 40) % LINES;
    while (lines[i].address != 0 && lines[i].address != line) {
        i = (i + 1) % LINES;
    }
    if (lines[i].address == 0) {
        if (++nlines > LINES / 2) {
            sim_fail("more than %d cache lines are counted", LINES / 2);
        }
        lines[i].address = line;
    }
    lines[i].accesses++;
    lines[i].misses += outcome->source != CACHES_L1;
    lines[i].ps += outcome->ps;
}

const struct sim_line *sim_line_next(const struct sim_line *line)
{
    for (line = line == NULL ? lines : line + 1; line < lines + LINES; line++) {
        if (line->address != 0) {
            return line;
        }
    }
    return NULL;
}
