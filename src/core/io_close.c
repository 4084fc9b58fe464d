/* SPDX-License-Identifier: MIT */
/*
 * io_close.c - closing descriptor numbers while threads wait for their files: io.h has the
 * argument. Called by the layer above around its system calls. Only where that layer closes: boards
 * have none.
 */
#include <errno.h>
#include <limits.h>

#include "io.h"
#include "io_entry.h"
#include "mutant.h"
#include "port_io.h"
#include "port_signals.h"
#include "wake.h"

/* NULL: nobody has used it. */
static struct io_entry *entry_known(unsigned fd)
{
    unsigned n = fd >> IO_CHUNK_BITS;
    struct io_entry *chunk =
        n < IO_CHUNKS ? at_load_acq(&io_chunks[n]) : NULL; /* ORDER(io-chunk) */
    return chunk != NULL ? &chunk[fd & (IO_CHUNK_SIZE - 1)] : NULL;
}

/* The next generation: nothing is known about its file. */
static void generation_next(struct io_entry *e)
{
    uint32_t state = at_load_rlx(&e->state);
    while (!at_cas_acq_rel(&e->state, &state, (state | RT_IO_KIND) + 1)) { /* ORDER(io-state) */
    }
}

/* Move the records to the copy's entry, where there are none: its number was free. */
static void records_move_locked(struct io_entry *e, struct io_entry *to, int copy)
{
    uint32_t wanted = 0;
    spin_lock(&to->lock, RANK_IO_COPY);
    io_entry_begin_locked(to);
    at_store_rlx(&to->held, (uint32_t)IO_HELD);
    to->armed = 0;
    while (!list_empty(&e->waits)) {
        struct rt_io *io = CONTAINER_OF(list_pop_front(&e->waits), struct rt_io, link);
        at_store_rlx(&io->fd, copy);
        list_push_back(&to->waits, &io->link);
        wanted |= io->got == 0 ? io->events : 0;
    }
    /* Also without any event at present: the port must know the file from now on. */
    if (port_io_arm(copy, wanted) < 0) {
        io_give_up_locked(to, RT_IO_GONE);
    } else {
        to->armed = wanted;
    }
    spin_unlock(&to->lock, RANK_IO_COPY);
}

/* Without a copy (all descriptors are in use) the waiters learn that the file is gone. */
static void hand_over_locked(struct io_entry *e, int fd)
{
    int copy = MUTANT(IO_KEEPS) ? -ECHILD : port_io_copy(fd);
    struct io_entry *to = copy >= 0 ? io_entry_of(copy) : NULL;
    if (copy == -ECHILD) {
        return; /* another process, which shares our memory and not our descriptors */
    }
    if (to == NULL) {
        io_give_up_locked(e, RT_IO_GONE);
        if (copy >= 0) {
            port_io_drop(copy);
        }
        return;
    }
    records_move_locked(e, to, copy);
    e->armed = 0;
}

/* Its number may belong to another file already; the thread that drops it says so soon. */
static bool settle(struct io_entry *e)
{
    uint32_t held;
    for (unsigned round = 0; (held = at_load_acq(&e->held)) == IO_GOING;
         round++) { /* ORDER(io-held) */
        port_relax(round);
    }
    return held != 0;
}

/* In a signal handler that has interrupted the runtime, the interrupted code may hold the lock.
 * Then the close counts as unannounced (io.h, 7). */
static void close_count(struct io_entry *e, int fd)
{
    unsigned long irq;
    if (port_is_inside()) {
        at_add_acq_rel(&e->closing, 1u); /* ORDER(io-state) */
        generation_next(e);
        return;
    }
    rt_enter(&irq);
    spin_lock(&e->lock, RANK_IO);
    at_add_acq_rel(&e->closing, 1u); /* ORDER(io-state) */
    generation_next(e);
    if (e->waits.next != NULL && !list_empty(&e->waits)) {
        hand_over_locked(e, fd);
    }
    spin_unlock(&e->lock, RANK_IO);
    rt_leave_woken(irq);
    for (unsigned round = 0; at_load_acq(&e->tries) != 0; round++) { /* ORDER(io-try) */
        port_relax(round);
    }
}

static void close_discount(struct io_entry *e, bool counted)
{
    unsigned long irq = 0;
    bool inside = port_is_inside();
    if (!inside) {
        rt_enter(&irq);
        spin_lock(&e->lock, RANK_IO);
    }
    generation_next(e);
    if (counted) {
        at_sub_acq_rel(&e->closing, 1u); /* ORDER(io-state) */
    }
    if (!inside) {
        if (e->waits.next != NULL && !MUTANT(IO_LATE_STAYS)) {
            io_give_up_locked(e, RT_IO_LATE);
        }
        spin_unlock(&e->lock, RANK_IO);
        rt_leave_woken(irq);
    }
}

bool rt_io_close_begin(struct rt_io_close *c, int fd)
{
    struct io_entry *e = fd >= 0 ? entry_known((unsigned)fd) : NULL;
    *c = (struct rt_io_close){fd, e != NULL};
    if (fd >= 0 && (port_io_own((unsigned)fd) == (unsigned)fd || (e != NULL && settle(e)))) {
        return false;
    }
    if (e != NULL) {
        close_count(e, fd);
    }
    return true;
}

void rt_io_close_end(const struct rt_io_close *c)
{
    if (!c->counted) {
        at_fence_seq(); /* ORDER(io-close) */
    }
    struct io_entry *e = c->fd >= 0 ? entry_known((unsigned)c->fd) : NULL;
    if (e != NULL) {
        close_discount(e, c->counted);
    }
}

static unsigned last_of_chunk(unsigned n, unsigned last)
{
    unsigned end = n * IO_CHUNK_SIZE + IO_CHUNK_SIZE - 1;
    return end < last ? end : last;
}

static unsigned first_of_chunk(unsigned n, unsigned first)
{
    unsigned begin = n * IO_CHUNK_SIZE;
    return begin > first ? begin : first;
}

void rt_io_range_begin(struct rt_io_range *r, unsigned first, unsigned last)
{
    *r = (struct rt_io_range){.first = first, .last = last};
    for (unsigned n = first >> IO_CHUNK_BITS; n < IO_CHUNKS && n <= last >> IO_CHUNK_BITS; n++) {
        if (at_load_acq(&io_chunks[n]) == NULL) { /* ORDER(io-chunk) */
            continue;
        }
        r->counted[n / 32] |= 1u << n % 32;
        unsigned end = last_of_chunk(n, last);
        for (unsigned fd = first_of_chunk(n, first); fd <= end; fd++) {
            close_count(entry_known(fd), (int)fd);
        }
    }
}

void rt_io_range_end(const struct rt_io_range *r)
{
    at_fence_seq(); /* ORDER(io-close) */
    for (unsigned n = r->first >> IO_CHUNK_BITS; n < IO_CHUNKS && n <= r->last >> IO_CHUNK_BITS;
         n++) {
        if (at_load_acq(&io_chunks[n]) == NULL) { /* ORDER(io-chunk) */
            continue;
        }
        bool counted = r->counted[n / 32] >> n % 32 & 1;
        unsigned end = last_of_chunk(n, r->last);
        for (unsigned fd = first_of_chunk(n, r->first); fd <= end; fd++) {
            close_discount(entry_known(fd), counted);
        }
    }
}

unsigned rt_io_own_from(unsigned first)
{
    unsigned own = port_io_own(first);
    for (unsigned n = first >> IO_CHUNK_BITS; n < IO_CHUNKS && n <= own >> IO_CHUNK_BITS; n++) {
        if (at_load_acq(&io_chunks[n]) == NULL) { /* ORDER(io-chunk) */
            continue;
        }
        unsigned end = last_of_chunk(n, own);
        for (unsigned fd = first_of_chunk(n, first); fd <= end; fd++) {
            if (settle(entry_known(fd))) {
                return fd;
            }
        }
    }
    return own;
}

void rt_io_opened(int fd)
{
    struct io_entry *e = fd >= 0 ? entry_known((unsigned)fd) : NULL;
    if (e != NULL && (at_load_rlx(&e->state) & RT_IO_KIND) != 0) {
        generation_next(e);
    }
}
