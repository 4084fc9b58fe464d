/* SPDX-License-Identifier: MIT */
/* functions.h - functions in which threads spend their time: functions.c, places.c. */
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

/* Makes the files and tables that they use. */
void functions_begin(void);
void functions_end(void);

#endif
