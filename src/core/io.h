/* SPDX-License-Identifier: MIT */
/*
 * io.h - threads that wait until a file descriptor is ready, without a kernel thread each.
 *
 * The port watches descriptors (Linux: one epoll instance): port_io_arm asks for one report of any
 * of the given events, and a report is a call of rt_io_ready. Bits of events are those of poll().
 *
 * For each descriptor there is an entry with the waits for it and what is armed. Invariants, under
 * the entry's lock:
 *   1. Every event that an unfired wait of the list asks for is armed. A wait is linked and armed
 * in one section, always anew: what others armed may be for a file that is closed by now, and the
 * port reports what was already the case: no event between the caller's failed attempt and its wait
 * is lost.
 *   2. A report disarms; it fires the waits that it concerns, and arms what the others want.
 *   3. A wait is unlinked by its own thread only, which takes the lock for it: whoever fires it,
 * under the same lock, finds it alive. A report may be spurious (a number that was closed and used
 * again): the caller tries again and waits again. Closing a descriptor while others wait for it
 * ends no wait, as in the kernel.
 */
#ifndef PIRN_CORE_IO_H
#define PIRN_CORE_IO_H

#include "cpu.h"

struct rt_io;

/* A thread in rt_io_wait, on its stack. */
struct io_waiter {
    struct waitq queue; /* its lock guards fired */
    bool fired;
    const struct rt_io *io; /* (C) what it waits for, for debuggers */
    unsigned n;
};

struct rt_io {
    int fd;
    uint32_t events; /* wanted */
    uint32_t got;    /* what was reported; RT_IO_FAILED: the descriptor cannot be waited for */
    struct list link;
    struct io_waiter *waiter;
};

#define RT_IO_FAILED 0x80000000u
#define RT_IO_ALWAYS 0x38u /* POLLERR, POLLHUP, POLLNVAL: reported without being asked for */

/* Wait until one of the n is ready, or fails, or until `deadline`. User threads. 0, -ETIMEDOUT,
 * -ECANCELED: it is a cancellation point. */
int rt_io_wait(struct rt_io *io, unsigned n, uint64_t deadline);

/* In the child of a fork: nothing is armed, and nobody waits. */
void io_forked(void);

/* Free all. For the simulator. */
void io_reset(void);

#endif
