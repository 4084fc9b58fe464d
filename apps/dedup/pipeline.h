/* SPDX-License-Identifier: MIT
 *
 * The data that passes through the stages of `encode`:
 *
 *   fragment ─→ refine ─→ deduplicate ─→ compress ─→ reorder, write
 *   1 thread    n         n        └────────────────↗ n          1
 *
 * Invariants:
 *  1. A fragment's bytes stay where they are until the archive is written: entries of the table
 *     point to them.
 *  2. Fragments are numbered. At most `inflight` numbers, counted from the first fragment that is
 *     not completely written, are in progress. So the last stage has a slot for each (number %
 *     inflight).
 *  3. The archive depends on the order of the input alone, not on which thread found a chunk first:
 *     the contents are written at the first chunk that has them, whichever thread compressed them.
 */
#ifndef APPS_DEDUP_PIPELINE_H
#define APPS_DEDUP_PIPELINE_H

#include "chunks.h"
#include "fifo.h"
#include "table.h"

#include <semaphore.h>
#include <stdio.h>

struct fragment;

struct chunk {
    struct fragment *fragment;
    const uint8_t *data;
    size_t size;
    struct entry *entry;
    bool fresh; /* the first found with these contents: its entry was compressed for it */
    bool here;  /* the last stage has it */
};

struct fragment {
    struct fragment *before; /* list of all fragments, from the last one */
    uint64_t number;
    uint8_t *data;
    size_t size;
    struct chunk *chunks; /* by `refine`; freed when they are written */
    size_t count;
};

struct encoding {
    const char *input, *output;
    size_t threads, fragment_size, inflight, depth;
    int level;
    struct cutter cutter;
    struct table *table;
    struct fragment *last; /* first stage */
    struct fifo fragments, chunks, fresh, done;
    sem_t room;                                     /* for fragments under way */
    FILE *file;                                     /* first stage */
    uint64_t bytes, count, unique, packed, archive; /* last stage */
};

/* Stages. NULL comes after the last item, once for each thread of the next stage. */
void *fragment_main(void *encoding);
void *reorder_main(void *encoding);

/* Makes the archive. */
void encode(struct encoding *encoding);

/* Restores the input of an archive, after checking all of the archive. */
struct decoded {
    uint64_t bytes, count, unique;
};
void decode(const char *input, const char *output, struct decoded *decoded);

#endif
