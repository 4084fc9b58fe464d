/* SPDX-License-Identifier: MIT */
/*
 * format.h - a trace in memory and in its file. Under Linux both are the same: the writer maps the
 * file, and a crash leaves it as it is. Elsewhere the port writes the file at the end, in which
 * rings may be smaller (trace_part). docs/internals/trace-format.md describes the file for people;
 * this header describes it to the compiler.
 *
 *     struct trace_header
 *     struct trace_ring [rings]      one for each CPU inside the runtime, one for each CPU in any
 *                                    context, one for kernel threads that execute no CPU
 *     text                           the list of events, names of reasons, the program
 *     data of the rings              each begins at a multiple of TRACE_ALIGN
 *
 * Everything is little-endian.
 */
#ifndef PIRN_TRACE_FORMAT_H
#define PIRN_TRACE_FORMAT_H

#include "compiler.h"

#define TRACE_MAGIC "PIRNTRC\n"
#define TRACE_VERSION 1u
#define TRACE_ALIGN 4096u
#define TRACE_NO_THREAD UINT32_MAX

/* The unit of a ring that one CPU writes: 16 bytes. `more` further records contain text. */
struct trace_record {
    uint32_t delta; /* ticks of the clock since the block began; SYNC: the running thread */
    uint8_t event;
    uint8_t more;
    uint16_t small;
    union {
        struct {
            uint32_t a, b;
        };
        uint64_t ab;
    };
};
_Static_assert(sizeof(struct trace_record) == 16, "the format");

/* A block has this many records; the first two are SYNC and CLOCK. No event crosses its end. */
#define TRACE_BLOCK 256u

/* Records that are not events. */
enum {
    TRACE_NOTHING = 0, /* never written */
    TRACE_SYNC = 1,    /* ab: the clock when the block began; small: the number of records that are
                        * events */
    TRACE_CLOCK = 2,   /* ab: ns of the system's monotonic clock at that moment */
    TRACE_PAD = 3,     /* the rest of the block is empty */
};

/* The unit of a ring that any context writes. A writer reserves a slot by an atomic addition. The
 * slot's contents are complete if `ticket` belongs to the slot's number. */
struct trace_slot {
    uint32_t ticket; /* low half of 1 + its number */
    uint8_t event;
    uint8_t more; /* 0 or 2 */
    uint16_t small;
    uint64_t ab;
    uint64_t clock;
    uint32_t thread; /* the running thread, or the one that stands for the kernel thread */
    uint32_t unused;
    char text[32];
};
_Static_assert(sizeof(struct trace_slot) == 64, "the format");

enum trace_ring_kind { TRACE_RING_THREAD = 1, TRACE_RING_ANY = 2 };

struct trace_ring {
    uint64_t head;         /* records or slots written so far; the next one is at this number modulo
                            * `capacity` */
    uint64_t events;       /* THREAD: events written so far */
    uint64_t lost;         /* events that were not written because the ring was full */
    uint64_t offset;       /* of the data in the file */
    uint64_t capacity;     /* records or slots */
    uint32_t kind;         /* enum trace_ring_kind */
    uint32_t cpu;          /* UINT32_MAX: kernel threads that execute no CPU */
    uint32_t keeps_oldest; /* as the header's flag */
    uint32_t unused[3];
};
_Static_assert(sizeof(struct trace_ring) == 64, "the format");

enum trace_flags {
    TRACE_KEEPS_OLDEST = 1 << 0, /* a full ring loses new events; otherwise old ones */
    TRACE_ENDED = 1 << 1,        /* the program has ended normally */
};

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size; /* of this structure */
    uint32_t flags;
    uint32_t cpus;
    uint32_t rings;
    uint32_t record_size, slot_size, block; /* as above */
    uint64_t text_offset, text_size;
    uint64_t
        clock_hz; /* ticks a second; 0: compute it from CLOCK records and the two pairs below */
    uint64_t start_clock, start_ns, start_unix_ns; /* one moment on three clocks; the last is
                                                    * calendar time */
    uint64_t end_clock, end_ns;                    /* 0: not ended */
    uint64_t pid;
    uint64_t file_size;
    uint64_t used_ns; /* CPU time of the process from the beginning to the end; 0: not known */
};
_Static_assert(sizeof(struct trace_header) == 128, "the format");

#endif
