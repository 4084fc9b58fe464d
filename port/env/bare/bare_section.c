/* SPDX-License-Identifier: MIT */
/*
 * bare_section.c (bare) - see section.h. A core's record is written by that core with interrupts
 * disabled; bare_sections_take reads and clears all of them, while nothing that counts runs.
 */
#include "section.h"

#ifdef PIRN_SECTIONS
#include "bare.h"

static struct {
    unsigned long off_since, off_most;
    unsigned long held_since, held_most;
    unsigned held; /* locks */
} sections[BARE_CORES];

#define MINE (&sections[arch_core() - bare_cores])

#ifndef ARCH_INSTRUCTIONS
#error "PIRN_SECTIONS=ON: no counter of instructions is known here (ARCH_INSTRUCTIONS)"
#endif

void section_begin(void)
{
    arch_instructions_begin();
}

void section_off(void)
{
    MINE->off_since = arch_instructions();
}

void section_on(void)
{
    unsigned long n = arch_instructions() - MINE->off_since;
    MINE->off_most = n > MINE->off_most ? n : MINE->off_most;
}

void section_lock(void)
{
    unsigned long from = arch_instructions();
    if (MINE->held++ == 0) {
        MINE->held_since = from;
    }
    unsigned long own = arch_instructions() - from;
    MINE->off_since += own;
    MINE->held_since += own;
}

void section_unlock(void)
{
    unsigned long from = arch_instructions();
    RT_ASSERT(MINE->held != 0);
    if (--MINE->held == 0) {
        unsigned long n = from - MINE->held_since;
        MINE->held_most = n > MINE->held_most ? n : MINE->held_most;
    }
    unsigned long own = arch_instructions() - from;
    MINE->off_since += own;
    MINE->held_since += own;
}

void bare_sections_take(unsigned long *off, unsigned long *held)
{
    *off = *held = 0;
    for (unsigned i = 0; i < BARE_CORES; i++) {
        *off = sections[i].off_most > *off ? sections[i].off_most : *off;
        *held = sections[i].held_most > *held ? sections[i].held_most : *held;
        sections[i].off_most = sections[i].held_most = 0;
    }
}
#endif
