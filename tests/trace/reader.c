/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <string.h>

typedef const char *trace_fn(const struct trace_seen *event, void *arg);

static const char *read_text(const char *from, unsigned more, struct trace_seen *seen)
{
    if (more != 0 && more != 2) {
        return "text of another length than 32 bytes";
    }
    memset(seen->text, 0, sizeof(seen->text));
    if (more != 0) {
        memcpy(seen->text, from, 32);
    }
    return NULL;
}

/* The records of one block, up to `end`. */
static const char *read_block(const struct trace_ring *ring, const struct trace_record *r,
                              unsigned end, trace_fn *fn, void *arg, uint64_t *events)
{
    uint64_t at = r[0].ab, before = at;
    unsigned in_block = 0;
    if (r[0].event != TRACE_SYNC || r[1].event != TRACE_CLOCK) {
        return "a block does not begin with SYNC and CLOCK";
    }
    for (unsigned i = 2; i < end && r[i].event != TRACE_PAD; i += 1u + r[i].more) {
        struct trace_seen seen = {.ring = ring,
                                  .event = r[i].event,
                                  .small = r[i].small,
                                  .clock = at + r[i].delta,
                                  .a = r[i].a,
                                  .b = r[i].b,
                                  .ab = r[i].ab,
                                  .running = r[0].delta,
                                  .block_begins = i == 2};
        if (i + r[i].more >= end) {
            return "text goes on behind the end of a block";
        }
        const char *why = read_text((const char *)&r[i + 1], r[i].more, &seen);
        why = why == NULL && seen.clock < before ? "the clock goes backwards" : why;
        why = why == NULL && fn != NULL ? fn(&seen, arg) : why;
        if (why != NULL) {
            return why;
        }
        before = seen.clock;
        in_block++;
    }
    *events += in_block;
    return end == TRACE_BLOCK && r[0].small != 0 && r[0].small != in_block
               ? "SYNC counts other events than there are"
               : NULL;
}

static const char *read_blocks(const struct trace_ring *ring, const void *data, trace_fn *fn,
                               void *arg, uint64_t *lost)
{
    const struct trace_record *r = data;
    uint64_t blocks = ring->capacity / TRACE_BLOCK, last = ring->head / TRACE_BLOCK;
    uint64_t first = !ring->keeps_oldest && last >= blocks ? last - blocks + 1 : 0;
    uint64_t events = 0;
    const char *why = NULL;
    for (uint64_t block = first; block * TRACE_BLOCK < ring->head && why == NULL; block++) {
        uint64_t left = ring->head - block * TRACE_BLOCK;
        why = read_block(ring, &r[block % blocks * TRACE_BLOCK],
                         left < TRACE_BLOCK ? (unsigned)left : TRACE_BLOCK, fn, arg, &events);
    }
    if (why == NULL && (events > ring->events || (first == 0 && events != ring->events))) {
        why = "the ring counts other events than there are";
    }
    *lost += ring->lost + ring->events - events;
    return why;
}

static const char *read_slots(const struct trace_ring *ring, const void *data, trace_fn *fn,
                              void *arg, uint64_t *lost)
{
    const struct trace_slot *slots = data;
    uint64_t n = ring->head, size = ring->capacity;
    uint64_t first = ring->keeps_oldest || n < size ? 0 : n - size;
    uint64_t last = ring->keeps_oldest && n > size ? size : n;
    *lost += n - (last - first);
    for (uint64_t i = first; i < last; i++) {
        const struct trace_slot *s = &slots[i % size];
        struct trace_seen seen = {.ring = ring,
                                  .event = s->event,
                                  .small = s->small,
                                  .clock = s->clock,
                                  .a = (uint32_t)s->ab,
                                  .b = (uint32_t)(s->ab >> 32),
                                  .ab = s->ab,
                                  .running = s->thread};
        if (s->ticket != (uint32_t)(i + 1)) {
            ++*lost; /* its writer was interrupted for good */
            continue;
        }
        const char *why = read_text(s->text, s->more, &seen);
        why = why == NULL && fn != NULL ? fn(&seen, arg) : why;
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

const char *trace_read(const void *file, size_t size, trace_fn *fn, void *arg, uint64_t *lost)
{
    const struct trace_header *h = file;
    const struct trace_ring *ring = (const struct trace_ring *)(h + 1);
    *lost = 0;
    if (size < sizeof(*h) || memcmp(h->magic, TRACE_MAGIC, sizeof(h->magic)) != 0) {
        return "not a trace";
    }
    if (h->version != TRACE_VERSION || h->header_size != sizeof(*h) || h->file_size != size ||
        h->rings != 2 * h->cpus + 1) {
        return "a header of another kind";
    }
    for (unsigned i = 0; i < h->rings; i++, ring++) {
        const char *data = (const char *)file + ring->offset;
        const char *why = ring->kind == TRACE_RING_THREAD ? read_blocks(ring, data, fn, arg, lost)
                          : ring->kind == TRACE_RING_ANY  ? read_slots(ring, data, fn, arg, lost)
                                                          : "a ring of another kind";
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}
