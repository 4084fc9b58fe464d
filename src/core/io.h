/* SPDX-License-Identifier: MIT */
/*
 * io.h - threads that wait until a file descriptor is ready, without a kernel thread each.
 *
 * The port watches descriptors (Linux: one epoll instance): port_io_arm asks for one report of any
 * of the given events, and a report is a call of rt_io_ready. Bits of events are those of poll().
 *
 * A wait belongs to a file (an open file description), as a blocked call does in the kernel. The
 * program knows the file by a number, and may close the number, or put another file there, while
 * the wait lasts. The caller therefore keeps its records linked for as long as its call lasts:
 *
 *     try by number: it would block
 *     rt_io_wait(&w, ...)                    links the records, waits
 *     fd = rt_io_try_begin(&w, &irq); try by fd, without blocking; rt_io_try_end(&w, irq)
 *     ... and so on;  rt_io_end(&w)          unlinks
 *
 * A number is closed (src/posix/linux/posix_closing.c) between rt_io_close_begin and
 * rt_io_close_end. If records are linked there, the runtime makes a copy of the descriptor (dup),
 * moves them to its number, and closes the copy when the last of them has left. So the file lives
 * until the calls that wait for it have ended.
 *
 * For each descriptor number there is an entry with its records and the armed events.
 * Invariants, under the entry's lock:
 *   1. Every event that an unfired record of the list asks for is armed. A record is linked and
 *      armed in one section, and armed again for each wait, because earlier arming may be for a
 *      file that is closed by now. The port also reports events that are true when they are armed,
 *      so no event between the caller's failed attempt and its wait is lost.
 *   2. A report disarms. It fires the records that it concerns, and arms the events of the others.
 *      A report may be spurious: the caller tries again and waits again.
 *   3. Only its own thread unlinks a record, and only a close moves it, with the locks of both
 *      entries. Its `fd` is stored under them: a thread that holds the lock of the entry that `fd`
 *      names, and reads the same `fd` again, has the list that contains the record.
 *   4. An attempt by number happens between rt_io_try_begin and rt_io_try_end, with interrupts
 *      disabled, and is counted in `tries`, under the lock, where the record has been found. A
 *      close waits for the count to become 0 after it has moved the records, before it makes the
 *      system call; no attempt begins while a close is under way. So no attempt reaches a file that
 *      got the number later. Attempts do not block: the close does not wait for long. ORDER(io-try)
 *   5. The first attempt of a call, before anything is linked, needs none of this as long as it has
 *      done nothing: the call might as well have begun later. If it has done a part of its work
 *      (`partial`), the rest must go to the same file. Every close increments the generation of the
 *      number before and after; the caller has read it before that attempt (`since`). If it has
 *      changed, or a close is under way, the wait is refused (RT_IO_LATE).
 *   6. A record that is linked while a close is under way may be armed for the closing file. The
 *      end of the close fires all records that it finds (RT_IO_LATE), and they begin again. A close
 *      that finds no entry looks again afterwards. ORDER(io-close)
 *   7. An unannounced close (a system call that is not made by the C library's names) is noticed
 *      when the number is armed for another file while records are linked: the port says that the
 *      file is new. The older records have lost their file: RT_IO_GONE. An attempt that is under
 *      way at that moment may reach the new file.
 * The number of a copy belongs to the runtime: closing it is refused. In the child of a fork the
 * copies are closed, because their waits belong to the parent.
 */
#ifndef PIRN_CORE_IO_H
#define PIRN_CORE_IO_H

#include "cpu.h"

struct rt_io;

/* A call that waits, on its thread's stack. */
struct io_waiter {
    struct waitq queue; /* its lock guards fired */
    bool fired;
    struct rt_io *io;          /* (C) what it waits for */
    unsigned n;                /* (C) */
    unsigned linked;           /* (O) so many of them are linked */
    _Atomic(uint32_t) *trying; /* (O) where the attempt under way is counted */
};

struct rt_io {
    _Atomic(int) fd; /* stored under the entry's lock while linked */
    uint32_t events; /* wanted */
    uint32_t got;    /* what was reported, or one of these: */
    uint32_t since;  /* rt_io_state of the number, before the first attempt */
    bool partial;    /* part of the work is done: the rest is for the same file */
    struct list link;
    struct io_waiter *waiter;
};

#define RT_IO_FAILED 0x80000000u /* the descriptor cannot be waited for */
#define RT_IO_GONE 0x40000000u   /* the file is no longer there */
#define RT_IO_LATE 0x20000000u   /* the number is being closed, or was: begin anew */
#define RT_IO_LOST (RT_IO_GONE | RT_IO_LATE)
#define RT_IO_ALWAYS 0x38u /* POLLERR, POLLHUP, POLLNVAL: reported without being asked for */

#define RT_IO_WAITER(records, count)                                                               \
    {                                                                                              \
        .io = (records), .n = (count)                                                              \
    }

/* Wait until one of the records is ready, or fails, or until `deadline`. User threads. 0,
 * -ETIMEDOUT, -ECANCELED: it is a cancellation point; -EINTR. The records stay linked: nothing that
 * may leave the function by a jump (handlers of the program's) runs before rt_io_end. */
int rt_io_wait(struct io_waiter *w, uint64_t deadline);

/* Before a wait, once an attempt was in vain: let others run, so that another attempt may find what
 * has come meanwhile. False: nobody ran. lost: that attempt was in vain, too. User threads; no
 * cancellation point; handlers of the program's may have run. */
bool rt_io_offer(void);
void rt_io_offer_lost(void);

/* An attempt with the file of the first record, which is linked: its number, to be used at once and
 * without blocking. -EAGAIN: begin anew, by the program's number; -EBADF: the file is gone. Only if
 * it is a number is the end to be called; interrupts are disabled until then. */
int rt_io_try_begin(struct io_waiter *w, unsigned long *irq);
void rt_io_try_end(struct io_waiter *w, unsigned long irq);

/* Unlink what is linked. May close a file. Errno is kept. */
void rt_io_end(struct io_waiter *w);

/* Knowledge of the layer above about the file of a number, until the number is closed: the lowest
 * bits; 0: nothing. The generation is above them. */
#define RT_IO_KIND 7u
uint32_t rt_io_state(int fd);            /* 0, for ever: there is no entry, and none to be had */
bool rt_io_same(int fd, uint32_t state); /* no close of it since, nor under way */
void rt_io_learn(int fd, uint32_t state, uint32_t kind);
void rt_io_opened(int fd); /* it is a new file's */

/* Around a system call that closes a number or gives it to another file. Any context. False: it is
 * the runtime's own: the call is not to be made, nor the end. */
struct rt_io_close {
    int fd;
    bool counted; /* in the entry, which was there */
};
bool rt_io_close_begin(struct rt_io_close *c, int fd);
void rt_io_close_end(const struct rt_io_close *c);

/* The same for a range in which no number is the runtime's own: rt_io_own_from gives the lowest of
 * them from there on; UINT_MAX: there is none. */
#define IO_CHUNKS 1024u
struct rt_io_range {
    unsigned first, last;
    uint32_t counted[IO_CHUNKS / 32]; /* chunks of entries that were there */
};
void rt_io_range_begin(struct rt_io_range *r, unsigned first, unsigned last);
void rt_io_range_end(const struct rt_io_range *r);
unsigned rt_io_own_from(unsigned first);

/* In the child of a fork: nothing is armed, and nobody waits. */
void io_forked(void);

/* Free all. For the simulator. */
void io_reset(void);

#endif
