/* SPDX-License-Identifier: MIT */
/* functions.h - where threads spend their time: functions.c, places.c. */
#ifndef STARVE_FUNCTIONS_H
#define STARVE_FUNCTIONS_H

#include <stdatomic.h>

struct function {
    const char *name;
    void (*call)(void); /* once, some microseconds */
};

extern const struct function functions[], places[];
extern const unsigned nfunctions, nplaces;

/* How often the threads were told to go elsewhere. The calls of places[] last until they are. */
extern atomic_uint functions_phase;

/* Files and tables that they use, made before. */
void functions_begin(void);
void functions_end(void);

#endif
