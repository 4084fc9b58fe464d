/* SPDX-License-Identifier: MIT */
/*
 * ring.h - writing events. For src/trace alone; everybody else calls the hooks (trace.h).
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

#define RING_PUBLISH(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* What the writer of a THREAD ring keeps for itself. */
struct trace_writer {
    struct trace_ring *ring;
    struct trace_record *records;
    uint64_t mask;     /* capacity - 1 */
    uint64_t position; /* records written ever */
    uint64_t block_at; /* the clock when the block began */
    uint64_t last_at;  /* the clock at the last event that has a time */
    uint64_t untimed;  /* the first of those that have none yet, up to `position` */
    uint64_t events;   /* written ever */
    uint64_t earlier;  /* of these, before the block */
    bool full;         /* and keeps its oldest */
} ALIGNED(64);

/* When an event happened. Reading the clock costs more than everything else of an event (some 20
 * ns, on a virtual machine), and much of what happens comes in twos: who blocks or ends is
 * switched away from, who is created becomes ready. */
enum ring_time {
    RING_NOW,
    RING_LATER, /* when the CPU's next event happens: that follows at once */
    RING_SAME,  /* when the CPU's last event happened: this follows at once */
};

/* Of an ANY ring: its places are taken by whoever comes. */
struct trace_places {
    struct trace_ring *ring;
    struct trace_slot *slots;
};

/* What happened, but for the time. */
struct trace_what {
    uint8_t event; /* enum trace_id */
    uint16_t small;
    uint64_t ab;
};

#define TRACE_AB(a, b) ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)

/* The events that were to have the time of the next one: here it is. */
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

/* An event stands in the next `records` places: now it counts, and readers see it, unless its time
 * is still to come. */
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

/* The long way: for events with text (up to TRACE_TEXT_MAX bytes, padded with zeroes), and where a
 * block begins. */
void ring_write_slow(struct trace_writer *w, uint32_t running, enum ring_time when,
                     struct trace_what what, const char *text);

/* An event of the CPU whose writer this is, inside the runtime. `running`: the thread that it runs.
 */
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
    /* Two whole words: put together in registers. */
    uint64_t *r = (uint64_t *)&w->records[w->position & w->mask];
    r[0] = delta | (uint64_t)what.event << 32 | (uint64_t)what.small << 48;
    r[1] = what.ab;
    ring_written(w, when, now, 1);
}

/* An event in any context. */
void ring_write_any(struct trace_places *p, uint32_t running, struct trace_what what,
                    const char *text);

#endif
