/* SPDX-License-Identifier: MIT */
/*
 * io.c - see io.h.
 */
#include "io.h"

#include <errno.h>

#include "mutant.h"
#include "spinlock.h"
#include "switch.h"

#define CHUNK_BITS 10
#define CHUNK_SIZE (1u << CHUNK_BITS)
#define CHUNKS 1024u

struct io_entry {
    spinlock_t lock;
    uint32_t armed;    /* (lock) */
    struct list waits; /* (lock) struct rt_io; {NULL}: not used yet */
};

static _Atomic(struct io_entry *) chunks[CHUNKS];
static _Atomic(uint32_t) waiting; /* threads in rt_io_wait: a hint */

uint32_t rt_io_waiting(void)
{
    return at_load_rlx(&waiting);
}

/* NULL: no such descriptor, or no memory. */
static struct io_entry *entry_of(int fd)
{
    unsigned n = (unsigned)fd >> CHUNK_BITS;
    if (fd < 0 || n >= CHUNKS) {
        return NULL;
    }
    struct io_entry *chunk = at_load_acq(&chunks[n]); /* ORDER(io-chunk) */
    if (chunk == NULL) {
        struct io_entry *mine = port_table_alloc(CHUNK_SIZE * sizeof(struct io_entry));
        if (mine == NULL) {
            return NULL;
        }
        if (at_cas_acq_rel(&chunks[n], &chunk, mine)) { /* ORDER(io-chunk) */
            chunk = mine;
        } else {
            port_table_free(mine, CHUNK_SIZE * sizeof(struct io_entry));
        }
    }
    return &chunk[(unsigned)fd & (CHUNK_SIZE - 1)];
}

/* What is armed may be so for a file that had this number before: the port is asked each time. */
static int arm_locked(struct io_entry *e, int fd, uint32_t wanted)
{
    if (MUTANT(ARM_ONCE) && (wanted & ~e->armed) == 0) {
        return 0;
    }
    wanted |= e->armed;
    int error = port_io_arm(fd, wanted);
    e->armed = error == 0 ? wanted : 0;
    return error;
}

static int io_link(struct rt_io *io)
{
    struct io_entry *e = entry_of(io->fd);
    if (e == NULL) {
        return -EBADF;
    }
    spin_lock(&e->lock, RANK_IO);
    if (e->waits.next == NULL) {
        list_init(&e->waits);
    }
    int error = arm_locked(e, io->fd, io->events);
    if (error == 0) {
        list_push_back(&e->waits, &io->link);
    }
    spin_unlock(&e->lock, RANK_IO);
    return error;
}

static void io_unlink(struct rt_io *io)
{
    struct io_entry *e = entry_of(io->fd);
    spin_lock(&e->lock, RANK_IO);
    list_remove(&io->link);
    spin_unlock(&e->lock, RANK_IO);
}

/* Under the lock of an entry where one of its waits is linked. */
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

/* Fire what `events` concerns; returns what the others want. */
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
    struct io_entry *e = entry_of(fd);
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
    struct waitq_how how = {.deadline = deadline,
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
    return waitq_block_locked(&w->queue, &how);
}

int rt_io_wait(struct rt_io *io, unsigned n, uint64_t deadline)
{
    struct io_waiter w = {.io = io, .n = n};
    unsigned long irq;
    unsigned linked = 0;
    bool failed = false;
    rt_self();
    rt_enter(&irq);
    at_add_acq_rel(&waiting, 1u);
    for (; linked < n && !failed; linked++) {
        io[linked].got = 0;
        io[linked].waiter = &w;
        failed = io_link(&io[linked]) != 0;
    }
    if (failed) {
        io[--linked].got = RT_IO_FAILED;
    }
    int error = failed ? 0 : waiter_block(&w, deadline);
    for (unsigned i = 0; i < linked; i++) {
        io_unlink(&io[i]);
    }
    at_sub_acq_rel(&waiting, 1u);
    rt_leave(irq);
    return error;
}

int rt_io_await(int fd, uint32_t events)
{
    struct rt_io io = {.fd = fd, .events = events};
    return rt_io_wait(&io, 1, UINT64_MAX);
}

void io_forked(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct io_entry *chunk = at_load_rlx(&chunks[i]);
        for (unsigned j = 0; chunk != NULL && j < CHUNK_SIZE; j++) {
            at_init(&chunk[j].lock.word, 0u);
            chunk[j].armed = 0;
            list_init(&chunk[j].waits);
        }
    }
    at_init(&waiting, 0u);
}

void io_reset(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct io_entry *chunk = at_load_rlx(&chunks[i]);
        if (chunk != NULL) {
            port_table_free(chunk, CHUNK_SIZE * sizeof(struct io_entry));
            at_init(&chunks[i], (struct io_entry *)NULL);
        }
    }
    at_init(&waiting, 0u);
}
