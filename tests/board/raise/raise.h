/* SPDX-License-Identifier: MIT */
/*
 * raise.h - interrupts that a program raises itself, for tests: raise_<device>.c. Numbers from 0 to
 * RAISE_COUNT - 1 stand for sources of the board.
 */
#ifndef RAISE_H
#define RAISE_H

#ifdef __mips__
#define RAISE_COUNT 2u
#else
#define RAISE_COUNT 3u
#endif

/* Once. */
void raise_begin(void);

unsigned raise_source(unsigned i);

/* It is pending from now on. From any core; the one that was raised before has been cleared. */
void raise_interrupt(unsigned i);

/* In its handler. */
void raise_clear(unsigned i);

#endif
