/* SPDX-License-Identifier: MIT */
/*
 * section.h (bare) - how long interrupts are disabled, and how long locks are held, in
 * instructions: for a library that counts that (PIRN_SECTIONS; docs/results/board-sections.md).
 * Else it is nothing.
 *
 * Each core keeps its longest sections. A section with interrupts disabled lasts until they are
 * enabled again, whichever thread runs then, or from a trap's begin to its end; waiting for an
 * interrupt is none. Of nested locks the outermost counts. The cost of counting is subtracted,
 * except that of the call.
 */
#ifndef PIRN_ENV_BARE_SECTION_H
#define PIRN_ENV_BARE_SECTION_H

#include "compiler.h"

#ifdef PIRN_SECTIONS

void section_begin(void);  /* on each core, before the others */
void section_off(void);    /* interrupts have just been disabled */
void section_on(void);     /* and are about to be enabled */
void section_lock(void);   /* a lock has just been taken */
void section_unlock(void); /* and is about to be released */

/* The longest since the last call, of all cores, in units of arch_instructions: for programs. */
void bare_sections_take(unsigned long *off, unsigned long *held);

#else

ALWAYS_INLINE void section_begin(void) {}
ALWAYS_INLINE void section_off(void) {}
ALWAYS_INLINE void section_on(void) {}
ALWAYS_INLINE void section_lock(void) {}
ALWAYS_INLINE void section_unlock(void) {}

#endif
#endif
