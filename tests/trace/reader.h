/* SPDX-License-Identifier: MIT */
/*
 * reader.h - reads a trace, using only src/trace/format.h, and reports errors in it. For tests:
 * users have `pirn trace`.
 */
#ifndef PIRN_TESTS_TRACE_READER_H
#define PIRN_TESTS_TRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "../../src/trace/format.h"

struct trace_seen {
    const struct trace_ring *ring;
    unsigned event;
    unsigned small;
    uint64_t clock;
    uint32_t a, b;
    uint64_t ab;
    uint32_t running; /* the thread that ran when the event's block began; in an ANY ring, at the
                       * event */
    bool block_begins;
    char text[33];
};

/* Call fn for each event, ring by ring, oldest first; fn returns NULL or an error text. Returns
 * NULL or an error text. `lost`: events that are no longer there, or were not written. */
const char *trace_read(const void *file, size_t size,
                       const char *(*fn)(const struct trace_seen *event, void *arg), void *arg,
                       uint64_t *lost);

#endif
