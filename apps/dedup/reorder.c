/* SPDX-License-Identifier: MIT
 *
 * The last stage: chunks arrive in any order and are written in the input's order. It never waits
 * for a certain chunk: it keeps chunks whose turn has not come, so the threads that deliver chunks
 * continue.
 */
#include "archive.h"
#include "check.h"
#include "output.h"
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

struct order {
    struct encoding *encoding;
    struct fragment **slots; /* fragments of which chunks have arrived, by number % inflight */
    uint64_t number;         /* of the fragment to be written next */
    size_t next;             /* its chunk to be written next */
    struct sha1 digests;
};

static void put(struct encoding *e, const struct record *record)
{
    uint8_t bytes[RECORD_MOST];
    size_t size = record_encode(record, bytes);

    output_write(bytes, size);
    e->archive += size;
}

static void put_contents(struct encoding *e, struct entry *entry)
{
    struct record record = {.kind = entry->packed ? RECORD_PACKED : RECORD_STORED};
    size_t size = entry->packed ? entry->stored_size : entry->size;

    record.raw_size = (uint32_t)entry->size;
    record.stored_size = (uint32_t)size;
    memcpy(record.digest, entry->digest, SHA1_SIZE);
    put(e, &record);
    output_write(entry->packed ? entry->stored : entry->data, size);
    e->archive += size;
    entry->written = true;
    entry->number = e->unique++;
    e->packed += entry->packed;
    free(entry->stored);
    entry->stored = NULL;
}

static void chunk_write(struct order *order, const struct chunk *chunk)
{
    struct encoding *e = order->encoding;
    struct record again = {.kind = RECORD_AGAIN, .number = chunk->entry->number};

    if (chunk->entry->written)
        put(e, &again);
    else
        put_contents(e, chunk->entry);
    sha1_add(&order->digests, chunk->entry->digest, SHA1_SIZE);
    e->bytes += chunk->size;
    e->count++;
}

static void fragment_end(struct order *order, struct fragment *fragment)
{
    struct encoding *e = order->encoding;

    free(fragment->chunks);
    fragment->chunks = NULL;
    order->slots[order->number % e->inflight] = NULL;
    order->number++;
    order->next = 0;
    semaphore_post(&e->room);
}

/* Writes all chunks that have arrived in sequence and whose contents are compressed. */
static void advance(struct order *order)
{
    struct fragment *f;

    while ((f = order->slots[order->number % order->encoding->inflight]) != NULL) {
        for (; order->next < f->count; order->next++) {
            const struct chunk *chunk = &f->chunks[order->next];

            if (!chunk->here || !chunk->entry->ready)
                return;
            chunk_write(order, chunk);
        }
        fragment_end(order, f);
    }
}

static void finish(struct order *order)
{
    struct encoding *e = order->encoding;
    struct record end = {.kind = RECORD_END, .bytes = e->bytes, .number = e->count};

    sha1_end(&order->digests, end.digest);
    put(e, &end);
}

void *reorder_main(void *arg)
{
    struct encoding *e = arg;
    struct order order = {.encoding = e};
    struct chunk *chunk;

    order.slots = array_alloc(e->inflight, sizeof(struct fragment *));
    sha1_begin(&order.digests);
    output_write(ARCHIVE_MAGIC, ARCHIVE_MAGIC_SIZE);
    e->archive = ARCHIVE_MAGIC_SIZE;
    while ((chunk = fifo_pop(&e->done)) != NULL) {
        chunk->here = true;
        if (chunk->fresh)
            chunk->entry->ready = true;
        order.slots[chunk->fragment->number % e->inflight] = chunk->fragment;
        advance(&order);
    }
    finish(&order);
    free(order.slots);
    return NULL;
}
