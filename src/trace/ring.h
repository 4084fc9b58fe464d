/* SPDX-License-Identifier: MIT */
/*
 * ring.h - writing events. Only src/trace uses it; all other code calls the hooks (trace.h).
 */
#ifndef PIRN_TRACE_RING_H
#define PIRN_TRACE_RING_H

#include "format.h"
#include "mutant.h"
#include "port.h"
#include "port_trace.h"

enum trace_id {
#define TRACE_EVENT(id, NAME, name, ring, fields, text) TRACE_EV_##NAME = (id),
#include "events.def"
#undef TRACE_EVENT
};

#define TRACE_TEXT_MAX 32u

#define RING_PUBLISH(p, v) STORE_REL((p), (v))

/* The private state of the writer of a THREAD ring. */
struct trace_writer {
    struct trace_ring *ring;
    struct trace_record *records;
    uint64_t mask;     /* capacity - 1 */
    uint64_t position; /* records written so far */
    uint64_t block_at; /* the clock when the block began */
    uint64_t last_at;  /* the clock at the last event that has its time */
    uint64_t untimed;  /* the first of the events without a time, which end at `position` */
    uint64_t events;   /* written so far */
    uint64_t earlier;  /* of these, before the current block */
    bool full;         /* the ring is full and keeps its oldest events */
} ALIGNED(64);

/* The time of an event. Reading the clock costs more than all else in an event (some 20 ns on a
 * virtual machine), and events often come in pairs: a thread that blocks or ends is then switched
 * out, and a new thread then becomes ready. */
enum ring_time {
    RING_NOW,
    RING_LATER, /* that of the CPU's next event, which follows at once */
    RING_SAME,  /* that of the CPU's last event, which this one follows at once */
};

/* An ANY ring: any context may reserve a slot. */
struct trace_places {
    struct trace_ring *ring;
    struct trace_slot *slots;
};

/* An event without its time. */
struct trace_what {
    uint8_t event; /* enum trace_id */
    uint16_t small;
    uint64_t ab;
};

#define TRACE_AB(a, b) ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)

/* Gives its time to the events that were written with RING_LATER. */
ALWAYS_INLINE void ring_late_ones(struct trace_writer *w, uint64_t delta)
{
    if (MUTANT(TRACE_LATE)) {
        w->untimed = w->position;
        return;
    }
    do {
        struct trace_record *r = &w->records[w->untimed & w->mask];
        r->delta = delta < UINT32_MAX ? (uint32_t)delta : UINT32_MAX;
        w->untimed += 1u + r->more;
    } while (w->untimed != w->position);
}

/* An event is in the next `records` records. Count it, so that readers see it, unless its time is
 * still missing. */
ALWAYS_INLINE void ring_written(struct trace_writer *w, enum ring_time when, uint64_t now,
                                unsigned records)
{
    w->position += records;
    w->events++;
    w->last_at = now;
    if (when != RING_LATER) {
        w->untimed = w->position;
        RING_PUBLISH(&w->ring->events, w->events);
        RING_PUBLISH(&w->ring->head, w->position);
    }
}

/* The slow path: for events with text (up to TRACE_TEXT_MAX bytes, padded with zeroes), and at the
 * beginning of a block. */
void ring_write_slow(struct trace_writer *w, uint32_t running, enum ring_time when,
                     struct trace_what what, const char *text);

/* Write an event of the CPU that owns the writer, inside the runtime. `running`: the thread that it
 * runs. */
ALWAYS_INLINE void ring_write(struct trace_writer *w, uint32_t running, enum ring_time when,
                              struct trace_what what)
{
    uint64_t in_block = w->position % TRACE_BLOCK;
    uint64_t now = when == RING_NOW ? port_trace_clock() : w->last_at;
    uint64_t delta = now - w->block_at;
    if (unlikely(in_block == 0 || delta > UINT32_MAX)) {
        ring_write_slow(w, running, when, what, NULL);
        return;
    }
    if (when != RING_LATER && w->untimed != w->position) {
        ring_late_ones(w, delta);
    }
    /* Two whole words, composed in registers. */
    uint64_t *r = (uint64_t *)&w->records[w->position & w->mask];
    r[0] = delta | (uint64_t)what.event << 32 | (uint64_t)what.small << 48;
    r[1] = what.ab;
    ring_written(w, when, now, 1);
}

/* Write an event in any context. */
void ring_write_any(struct trace_places *p, uint32_t running, struct trace_what what,
                    const char *text);

#endif
