/* SPDX-License-Identifier: MIT */
/*
 * ring.c - see ring.h. The memory is the trace's file, mapped. The reader is another program,
 * usually after the end of this one, however it ended.
 *
 * Invariants:
 *   1. A THREAD ring has one writer at a time, the CPU inside the runtime. A CPU passes from one
 *      kernel thread to another with release and acquire (carrier.h).
 *   2. `head` of a THREAD ring is written, with release, after the records that it counts: all
 *      records before it are complete.
 *   3. A block is overwritten from its beginning. Between `head` and the end of its block there are
 *      old records whose SYNC is gone. Readers ignore them.
 *   4. A slot of an ANY ring belongs to one writer from the addition on. Two writers could only
 *      share a slot if there were as many writers at once as slots. ticket is 0 during the write,
 *      and is stored last, with release.
 *
 * None of these accesses is a scheduling point of the simulator, so a traced run takes the same
 * course as one without a trace.
 */
#include "ring.h"
#include "port_trace.h"

#include <string.h>

#define RING_COUNT(p) __atomic_fetch_add((p), 1, __ATOMIC_RELAXED)

/* Records at the head of a block that are not events. */
#define BLOCK_HEAD 2u

ALWAYS_INLINE struct trace_record *ring_at(const struct trace_writer *w, uint64_t position)
{
    return &w->records[position & w->mask];
}

/* Close the block, if there is one, and open the next, unless the ring is full. */
static COLD void ring_next_block(struct trace_writer *w, uint32_t running, uint64_t now)
{
    uint64_t in_block = w->position % TRACE_BLOCK;
    if (in_block != 0) {
        *ring_at(w, w->position) = (struct trace_record){.event = TRACE_PAD};
        w->position += TRACE_BLOCK - in_block;
    }
    if (w->position != 0) {
        ring_at(w, w->position - TRACE_BLOCK)->small = (uint16_t)(w->events - w->earlier);
        w->earlier = w->events;
    }
    w->full = w->ring->keeps_oldest && w->position >= w->ring->capacity;
    if (!w->full) {
        w->block_at = now;
        *ring_at(w, w->position) =
            (struct trace_record){.delta = running, .event = TRACE_SYNC, .ab = now};
        *ring_at(w, w->position + 1) =
            (struct trace_record){.event = TRACE_CLOCK, .ab = port_trace_ns()};
        w->position += BLOCK_HEAD;
    }
    w->untimed = w->position;
}

void ring_write_slow(struct trace_writer *w, uint32_t running, enum ring_time when,
                     struct trace_what what, const char *text)
{
    uint64_t now = when == RING_NOW ? port_trace_clock() : w->last_at;
    unsigned more = text != NULL ? TRACE_TEXT_MAX / sizeof(struct trace_record) : 0;
    uint64_t in_block = w->position % TRACE_BLOCK;
    if (when != RING_LATER && w->untimed != w->position) {
        ring_late_ones(w, now - w->block_at);
    }
    if (in_block == 0 || in_block + 1 + more > TRACE_BLOCK || now - w->block_at > UINT32_MAX) {
        if (!w->full) {
            now = when == RING_LATER ? port_trace_clock() : now;
            if (w->untimed != w->position) {
                ring_late_ones(w, now - w->block_at);
            }
            ring_next_block(w, running, now);
        }
        if (w->full) {
            w->ring->lost++;
            return;
        }
    }
    *ring_at(w, w->position) = (struct trace_record){.delta = (uint32_t)(now - w->block_at),
                                                     .event = what.event,
                                                     .more = (uint8_t)more,
                                                     .small = what.small,
                                                     .ab = what.ab};
    if (text != NULL) {
        memcpy(ring_at(w, w->position + 1), text, TRACE_TEXT_MAX);
    }
    ring_written(w, when, now, 1 + more);
}

void ring_write_any(struct trace_places *p, uint32_t running, struct trace_what r, const char *text)
{
    uint64_t number = RING_COUNT(&p->ring->head);
    if (unlikely(p->ring->keeps_oldest && number >= p->ring->capacity)) {
        return; /* head counts the event as lost */
    }
    struct trace_slot *slot = &p->slots[number & (p->ring->capacity - 1)];
    RING_PUBLISH(&slot->ticket, 0u);
    slot->event = r.event;
    slot->more = text != NULL ? TRACE_TEXT_MAX / sizeof(struct trace_record) : 0;
    slot->small = r.small;
    slot->ab = r.ab;
    slot->clock = port_trace_clock();
    slot->thread = running;
    if (text != NULL) {
        memcpy(slot->text, text, TRACE_TEXT_MAX);
    }
    RING_PUBLISH(&slot->ticket, (uint32_t)(number + 1));
}
