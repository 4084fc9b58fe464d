/* SPDX-License-Identifier: MIT */
/*
 * io_entry.h - an entry for each descriptor number: shared by io.c and io_close.c. See io.h.
 */
#ifndef PIRN_CORE_IO_ENTRY_H
#define PIRN_CORE_IO_ENTRY_H

#include "io.h"
#include "list.h"
#include "spinlock.h"

#define IO_CHUNK_BITS 10
#define IO_CHUNK_SIZE (1u << IO_CHUNK_BITS)
#define RT_IO_KIND_BITS 3

/* Is the number that of a copy made by the runtime? GOING: it is about to be closed. */
enum io_held { IO_HELD = 1, IO_GOING = 2 };

struct io_entry {
    spinlock_t lock;
    uint32_t armed;            /* (lock) */
    struct list waits;         /* (lock) struct rt_io; {NULL}: not used yet */
    _Atomic(uint32_t) state;   /* (A) the number's generation, and knowledge about the file */
    _Atomic(uint32_t) closing; /* (A) closes under way */
    _Atomic(uint32_t) tries;   /* (A) attempts under way; incremented under the lock */
    _Atomic(uint32_t) held;    /* (lock), but for its end: enum io_held */
};

extern _Atomic(struct io_entry *) io_chunks[IO_CHUNKS];

/* NULL: no such descriptor, or no memory. */
struct io_entry *io_entry_of(int fd);

ALWAYS_INLINE void io_entry_begin_locked(struct io_entry *e)
{
    if (e->waits.next == NULL) {
        list_init(&e->waits);
    }
}

/* All records get `why`, and their threads are woken. */
void io_give_up_locked(struct io_entry *e, uint32_t why);

#endif
