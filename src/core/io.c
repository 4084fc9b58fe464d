/* SPDX-License-Identifier: MIT */
/*
 * io.c - waiting for descriptors: io.h. Closing them is in io_close.c.
 */
#include "io.h"

#include <errno.h>

#include "io_entry.h"
#include "mutant.h"
#include "port_io.h"
#include "switch.h"
#include "wake.h"

_Atomic(struct io_entry *) io_chunks[IO_CHUNKS];
static _Atomic(uint32_t) waiting; /* threads in rt_io_wait: a hint */

uint32_t rt_io_waiting(void)
{
    return at_load_rlx(&waiting);
}

struct io_entry *io_entry_of(int fd)
{
    unsigned n = (unsigned)fd >> IO_CHUNK_BITS;
    if (fd < 0 || n >= IO_CHUNKS) {
        return NULL;
    }
    struct io_entry *chunk = at_load_acq(&io_chunks[n]); /* ORDER(io-chunk) */
    if (chunk == NULL) {
        struct io_entry *mine = port_table_alloc(IO_CHUNK_SIZE * sizeof(struct io_entry));
        if (mine == NULL) {
            return NULL;
        }
        if (at_cas_acq_rel(&io_chunks[n], &chunk, mine)) { /* ORDER(io-chunk) */
            chunk = mine;
            at_fence_seq(); /* ORDER(io-close) */
        } else {
            port_table_free(mine, IO_CHUNK_SIZE * sizeof(struct io_entry));
        }
    }
    return &chunk[(unsigned)fd & (IO_CHUNK_SIZE - 1)];
}

/* Locks the entry whose list a linked record is in. */
static struct io_entry *entry_lock(const struct rt_io *io)
{
    for (;;) {
        int fd = at_load_rlx(&io->fd);
        struct io_entry *e = io_entry_of(fd);
        spin_lock(&e->lock, RANK_IO);
        if (at_load_rlx(&io->fd) == fd) {
            return e;
        }
        spin_unlock(&e->lock, RANK_IO);
    }
}

/* Under the lock of an entry where one of its records is linked. */
static void waiter_fire(struct io_waiter *w)
{
    state_lock(&w->queue.lock, RANK_WAITQ);
    w->fired = true;
    struct thread *t = waitq_pop_locked(&w->queue);
    state_unlock(&w->queue.lock, RANK_WAITQ);
    if (t != NULL) {
        rt_wake(port_cpu_self(), t, PIRN_WHY_WAKE);
    }
}

void io_give_up_locked(struct io_entry *e, uint32_t why)
{
    for (struct list *at = e->waits.next; at != &e->waits; at = at->next) {
        struct rt_io *io = CONTAINER_OF(at, struct rt_io, link);
        if (!(io->got & RT_IO_LOST)) {
            io->got = why;
            waiter_fire(io->waiter);
        }
    }
}

/* The armed events may belong to a file that had this number before. So the port is asked each
 * time. If it does not know this file yet, the linked records wait for a file that is gone
 * (invariant 7). */
static int arm_locked(struct io_entry *e, int fd, uint32_t wanted)
{
    if (MUTANT(ARM_ONCE) && (wanted & ~e->armed) == 0) {
        return 0;
    }
    int known = port_io_arm(fd, wanted | e->armed);
    if (known > 0 && !MUTANT(IO_STRANGER)) {
        io_give_up_locked(e, RT_IO_GONE);
    }
    e->armed = known >= 0 ? wanted | e->armed : 0;
    return known < 0 ? known : 0;
}

/* Has the number been closed meanwhile? */
static bool is_late_locked(const struct io_entry *e, const struct rt_io *io)
{
    return io->partial &&
           (at_load_rlx(&e->closing) != 0 ||
            at_load_rlx(&e->state) >> RT_IO_KIND_BITS != io->since >> RT_IO_KIND_BITS);
}

/* False: it is not linked, and io->got says why. Once it is linked, others write io->got. */
static bool io_link(struct rt_io *io)
{
    bool linked = false;
    int fd = at_load_rlx(&io->fd);
    struct io_entry *e = io_entry_of(fd);
    io->got = RT_IO_FAILED;
    if (e == NULL) {
        return false;
    }
    spin_lock(&e->lock, RANK_IO);
    io_entry_begin_locked(e);
    if (is_late_locked(e, io)) {
        io->got = RT_IO_LATE;
    } else if (arm_locked(e, fd, io->events) == 0) {
        io->got = 0;
        list_push_back(&e->waits, &io->link);
        linked = true;
    }
    spin_unlock(&e->lock, RANK_IO);
    return linked;
}

/* A record that has waited before. */
static bool io_rearm(struct rt_io *io)
{
    struct io_entry *e = entry_lock(io);
    if (!(io->got & RT_IO_LOST)) {
        io->got = 0;
        if (arm_locked(e, at_load_rlx(&io->fd), io->events) != 0) {
            io->got = RT_IO_FAILED;
        }
    }
    bool armed = io->got == 0;
    spin_unlock(&e->lock, RANK_IO);
    return armed;
}

/* Fire the records that `events` concerns; returns the events of the others. */
static uint32_t fire_locked(struct io_entry *e, uint32_t events)
{
    uint32_t others = 0;
    for (struct list *at = e->waits.next; at != &e->waits; at = at->next) {
        struct rt_io *io = CONTAINER_OF(at, struct rt_io, link);
        uint32_t got = events & (io->events | RT_IO_ALWAYS | RT_IO_FAILED);
        if (io->got == 0 && got != 0) {
            io->got = got;
            waiter_fire(io->waiter);
        } else if (io->got == 0) {
            others |= io->events;
        }
    }
    return others;
}

void rt_io_ready(int fd, uint32_t events)
{
    struct io_entry *e = io_entry_of(fd);
    if (e == NULL) {
        return;
    }
    spin_lock(&e->lock, RANK_IO);
    e->armed = 0;
    if (e->waits.next != NULL) {
        uint32_t others = fire_locked(e, events);
        if (others != 0 && arm_locked(e, fd, others) != 0) {
            fire_locked(e, RT_IO_FAILED);
        }
    }
    spin_unlock(&e->lock, RANK_IO);
}

static int waiter_block(struct io_waiter *w, uint64_t deadline)
{
    struct waitq_options options = {.deadline = deadline,
                                    .object = w,
                                    .reason = WAIT_IO,
                                    .rank = RANK_WAITQ,
                                    .removable = true,
                                    .interruptible = rt_signals};
    state_lock(&w->queue.lock, RANK_WAITQ);
    if (w->fired) {
        state_unlock(&w->queue.lock, RANK_WAITQ);
        return 0;
    }
    return waitq_block_locked(&w->queue, &options);
}

/* Link all records, or arm them again. False: one of them says why not. A record that fires and is
 * armed after that makes the wait end without an event. */
static bool waiter_arm(struct io_waiter *w)
{
    bool armed = true;
    state_lock(&w->queue.lock, RANK_WAITQ);
    w->fired = false;
    state_unlock(&w->queue.lock, RANK_WAITQ);
    for (unsigned i = 0; i < w->linked && armed; i++) {
        armed = io_rearm(&w->io[i]);
    }
    while (armed && w->linked < w->n) {
        w->io[w->linked].waiter = w;
        armed = io_link(&w->io[w->linked]);
        w->linked += armed;
    }
    return armed;
}

int rt_io_wait(struct io_waiter *w, uint64_t deadline)
{
    unsigned long irq;
    rt_self();
    rt_enter(&irq);
    at_add_acq_rel(&waiting, 1u);
    int error = waiter_arm(w) ? waiter_block(w, deadline) : 0;
    at_sub_acq_rel(&waiting, 1u);
    rt_leave(irq);
    return error;
}

int rt_io_try_begin(struct io_waiter *w, unsigned long *irq)
{
    struct rt_io *io = w->io;
    rt_self();
    rt_enter(irq);
    struct io_entry *e = entry_lock(io);
    int fd = io->got & RT_IO_GONE                                    ? -EBADF
             : io->got & RT_IO_LATE || at_load_rlx(&e->closing) != 0 ? -EAGAIN
                                                                     : at_load_rlx(&io->fd);
    if (fd >= 0 && !MUTANT(IO_UNCOUNTED)) {
        w->trying = &e->tries;
        at_add_rlx(w->trying, 1u); /* the closer takes the lock afterwards */
    }
    spin_unlock(&e->lock, RANK_IO);
    if (fd < 0) {
        rt_leave(*irq);
    }
    return fd;
}

void rt_io_try_end(struct io_waiter *w, unsigned long irq)
{
    if (w->trying != NULL) {
        at_sub_acq_rel(w->trying, 1u); /* ORDER(io-try) */
        w->trying = NULL;
    }
    rt_leave(irq);
}

/* A copy is closed with its last record. The system call frees its number, which another file may
 * get at once. Closing that file waits until the number is no longer ours (settle), unless it
 * belongs to another copy by then. */
static void io_unlink(struct rt_io *io)
{
    struct io_entry *e = entry_lock(io);
    list_remove(&io->link);
    bool last = at_load_rlx(&e->held) == IO_HELD && list_empty(&e->waits);
    if (last) {
        at_store_rlx(&e->held, (uint32_t)IO_GOING);
        e->armed = 0;
    }
    spin_unlock(&e->lock, RANK_IO);
    if (last) {
        port_io_drop(at_load_rlx(&io->fd));
        uint32_t going = IO_GOING;
        at_cas_rel(&e->held, &going, 0u); /* ORDER(io-held) */
    }
}

void rt_io_end(struct io_waiter *w)
{
    unsigned long irq;
    if (w->linked == 0) {
        return;
    }
    rt_self();
    rt_enter(&irq);
    while (w->linked != 0) {
        io_unlink(&w->io[--w->linked]);
    }
    rt_leave(irq);
}

int rt_io_await(int fd, uint32_t events, uint64_t deadline)
{
    struct rt_io io = {.fd = fd, .events = events};
    struct io_waiter w = RT_IO_WAITER(&io, 1);
    int error = rt_io_wait(&w, deadline);
    rt_io_end(&w);
    return error;
}

uint32_t rt_io_state(int fd)
{
    struct io_entry *e = io_entry_of(fd);
    return e != NULL ? at_load_acq(&e->state) : 0; /* ORDER(io-state) */
}

void rt_io_learn(int fd, uint32_t state, uint32_t kind)
{
    struct io_entry *e = io_entry_of(fd);
    if (e != NULL) {
        at_cas_rlx(&e->state, &state, (state & ~RT_IO_KIND) | kind);
    }
}

bool rt_io_same(int fd, uint32_t state)
{
    struct io_entry *e = io_entry_of(fd);
    at_fence_seq();
    return e != NULL && at_load_acq(&e->closing) == 0 &&                    /* ORDER(io-state) */
           ((at_load_acq(&e->state) ^ state) & ~(uint32_t)RT_IO_KIND) == 0; /* ORDER(io-state) */
}

void io_reset(void)
{
    for (unsigned i = 0; i < IO_CHUNKS; i++) {
        struct io_entry *chunk = at_load_rlx(&io_chunks[i]);
        if (chunk != NULL) {
            port_table_free(chunk, IO_CHUNK_SIZE * sizeof(struct io_entry));
            at_init(&io_chunks[i], (struct io_entry *)NULL);
        }
    }
    at_init(&waiting, 0u);
}

static void entry_forked(struct io_entry *e, int fd)
{
    if (at_load_rlx(&e->held) != 0) {
        port_io_drop(fd);
    }
    at_init(&e->lock.word, 0u);
    at_init(&e->held, 0u);
    at_init(&e->closing, 0u);
    at_init(&e->tries, 0u);
    e->armed = 0;
    list_init(&e->waits);
}

void io_forked(void)
{
    for (unsigned i = 0; i < IO_CHUNKS; i++) {
        struct io_entry *chunk = at_load_rlx(&io_chunks[i]);
        for (unsigned j = 0; chunk != NULL && j < IO_CHUNK_SIZE; j++) {
            entry_forked(&chunk[j], (int)(i * IO_CHUNK_SIZE + j));
        }
    }
    at_init(&waiting, 0u);
}
