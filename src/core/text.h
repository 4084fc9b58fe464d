/* SPDX-License-Identifier: MIT */
/*
 * text.h - text that grows into a buffer, descriptions, counters, traces, messages.
 */
#ifndef PIRN_CORE_TEXT_H
#define PIRN_CORE_TEXT_H

#include "compiler.h"

/* `used` goes on counting what does not fit; with size 0 that is all that happens. What is there
 * ends with a NUL, which is not counted. */
struct text {
    char *buffer;
    size_t size, used;
};

void text_add(struct text *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What the program has chosen, in a table: ? for characters that would end a column or a line. */
void text_add_name(struct text *out, const char *name);

#endif
