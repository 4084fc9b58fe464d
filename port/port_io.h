/* SPDX-License-Identifier: MIT */
/*
 * port_io.h - waiting for descriptors.
 *
 * PORT_IO (port_env.h): true where descriptors can be watched: files and sockets on Linux, a
 * console on boards. PORT_IO_CLOSE: true where a descriptor may be closed while threads wait for
 * it.
 */
#ifndef PIRN_PORT_IO_H
#define PIRN_PORT_IO_H

#include "port.h"

#include <errno.h>
#include <limits.h>

#if PORT_IO
/* Report any of `events` (bits of poll(); errors always) of the descriptor once, by rt_io_ready(fd,
 * events), including those that are true already; replaces the earlier request. Interrupts are
 * disabled. 0; 1: there was no earlier request for the file that has this number now; -errno: it
 * cannot be watched. */
int port_io_arm(int fd, uint32_t events);

/* Deliver reports without waiting. A searching CPU calls it now and then while rt_io_waiting(); a
 * sleeping one (port_cpu_idle) waits for reports. */
void port_io_poll(void);
#else
ALWAYS_INLINE int port_io_arm(int fd, uint32_t events)
{
    (void)fd;
    (void)events;
    return -ENOSYS;
}

ALWAYS_INLINE void port_io_poll(void) {}
#endif

#if PORT_IO && PORT_CALLS_BLOCK
/* The caller's CPU is going to sleep in a call, and has passed a full fence since it said so. From
 * now on reports are delivered without it. */
void port_io_attend(void);
#else
ALWAYS_INLINE void port_io_attend(void) {}
#endif

#if PORT_IO && PORT_FOREIGN
/* A foreign thread waits itself. 0, -ETIMEDOUT, -EBADF. */
int port_io_block(int fd, uint32_t events, uint64_t deadline);
#else
ALWAYS_INLINE int port_io_block(int fd, uint32_t events, uint64_t deadline)
{
    (void)fd;
    (void)events;
    (void)deadline;
    return -EBADF;
}
#endif

#if PORT_IO_CLOSE
/* Copy a descriptor whose number is about to be closed: another number for its file, which belongs
 * to the runtime. Requests for the file by the old number are forgotten. -errno; -ECHILD: the
 * caller's process is not the one in which the runtime runs, although it shares its memory.
 * Interrupts are disabled. port_io_drop closes a copy, and keeps errno. */
int port_io_copy(int fd);
void port_io_drop(int fd);

/* The lowest number from `first` on that is a descriptor of the port; UINT_MAX: none. */
unsigned port_io_own(unsigned first);
#else
ALWAYS_INLINE int port_io_copy(int fd)
{
    (void)fd;
    return -ENOSYS;
}

ALWAYS_INLINE void port_io_drop(int fd)
{
    (void)fd;
}

ALWAYS_INLINE unsigned port_io_own(unsigned first)
{
    (void)first;
    return UINT_MAX;
}
#endif

/* Upcalls. */
uint32_t rt_io_waiting(void); /* threads that wait for descriptors; a hint */
void rt_io_ready(int fd, uint32_t events);
/* The calling user thread waits for a report, until the deadline at the latest (UINT64_MAX: for
 * ever): 0, -ETIMEDOUT, -ECANCELED. */
int rt_io_await(int fd, uint32_t events, uint64_t deadline);

#endif
