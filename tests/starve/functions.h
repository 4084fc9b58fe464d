/* SPDX-License-Identifier: MIT */
/* functions.h - functions in which threads spend their time: functions.c, places.c, throw.cpp. */
#ifndef STARVE_FUNCTIONS_H
#define STARVE_FUNCTIONS_H

#include <stdatomic.h>

struct function {
    const char *name;
    void (*call)(void); /* once, some microseconds */
};

extern const struct function functions[], places[];
extern const unsigned nfunctions, nplaces;

/* Counts how often the threads were asked to move on. A call of places[] lasts until the next
 * time. */
extern atomic_uint functions_phase;

/* The end: a thread may come to a place only after the last change of the phase. */
extern atomic_bool functions_over;

/* throw.cpp */
void function_throws(void);

/* Makes the files and tables that they use. */
void functions_begin(void);
void functions_end(void);

#endif
