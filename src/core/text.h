/* SPDX-License-Identifier: MIT */
/*
 * text.h - text that grows into a buffer, descriptions, counters, traces, messages.
 */
#ifndef PIRN_CORE_TEXT_H
#define PIRN_CORE_TEXT_H

#include "compiler.h"

/* Add text. `used` also counts characters that do not fit; with size 0 they are only counted. The
 * text ends with a NUL, which is not counted. */
struct text {
    char *buffer;
    size_t size, used;
};

void text_add(struct text *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Text of the program's choice, in a table: ? for characters that would end a column or a line. */
void text_add_name(struct text *out, const char *name);

/* A string of JSON (RFC 8259) with its quotes. Every byte that is not part of a UTF-8 character is
 * written as U+FFFD. All JSON of the runtime has its strings from here. */
void text_add_json(struct text *out, const char *s, size_t length);

/* Why a file that the runtime writes cannot be written, by the -errno of port_file_claim,
 * port_file_write or port_trace_open, and which file would be valid. */
const char *text_file_error(int error);

#endif
