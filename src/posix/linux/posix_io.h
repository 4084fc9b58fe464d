/* SPDX-License-Identifier: MIT */
/*
 * posix_io.h - shared by the C library's calls that may block the kernel thread: posix_io.c
 * (reading and writing), posix_io_try.c (attempts and waits), posix_io_socket.c, posix_io_poll.c,
 * posix_io_other.c, posix_closing.c.
 *
 * For a foreign thread these functions make the system call. For a user thread there are two kinds:
 *   1. If the kernel can answer "not now" (sockets, pipes, ...), the function asks it not to block.
 *      If the call would have blocked, the thread waits for the descriptor (rt_io_wait) and tries
 *      again: no kernel thread is held up. Descriptors that the program itself made non-blocking
 *      are left alone; the flag at the time of the first attempt counts, as in the kernel. From the
 *      first wait on the call belongs to the file, whatever the number means then (posix_io_try.c).
 *      If the thread's CPU has nothing else to run, and few threads are in calls, the call is made
 *      as it is (rt_call_sleeps): the CPU sleeps in it, which takes fewer system calls than
 *      watching the descriptor.
 *   2. Every other call runs between rt_call_begin and rt_call_end. The thread gives its CPU away
 *      if the call turns out to block, or at once if it is known to block. errno and results are
 *      the kernel's.
 * Cancellation points (IO in io.def) check for a request first (abi_glibc_io.c). A request that
 * comes later ends a wait of kind 1 and a call of kind 2 (IO_CALL). The function then returns -1
 * with errno ECANCELED, unless it has done part of its work, and the exported name's wrapper acts
 * on it. Signals end both kinds in the same way (posix_signal.h). The result is EINTR or another
 * attempt, depending on the handlers' SA_RESTART and on the function.
 */
#ifndef PIRN_POSIX_IO_H
#define PIRN_POSIX_IO_H

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../core/carrier.h"
#include "../../core/io.h"
#include "../posix.h"
#include "port_signals.h"

/* The functions and their prototypes are kept apart from the system's headers, which give some of
 * these names other attributes or argument types. */
#define IO(ret, name, params, args) ret pirn_posix_##name params;
#define IO_OTHER IO
#include "io.def"
#undef IO
#undef IO_OTHER

/* True if only the system call may be made: for a foreign kernel thread, or in a signal handler
 * that has interrupted the runtime (POSIX lets handlers call read, write, poll and others). */
ALWAYS_INLINE bool io_is_plain(void)
{
    return posix_is_foreign() || !port_may_wait();
}

/* errno after a wait. Its address may have changed, which compilers do not expect. */
int io_errno(void);

/* How a system call is made: flags. */
enum io_how {
    IO_MAY_BLOCK = 0,
    IO_BLOCKS = 1,   /* known to block */
    IO_NO_POINT = 2, /* a request does not end it */
    IO_ONCE = 4,     /* fails with IO_DISTURBED instead of being repeated with the same arguments */
    IO_RESTARTS = 8, /* with IO_ONCE: handlers with SA_RESTART do not end it either */
};

/* One of the runtime's own signals has ended the call, and no handler has run. Programs never see
 * it. */
#define IO_DISTURBED ERESTART

/* Make a system call; args: its number, then six arguments. Result and errno are the kernel's.
 * ECANCELED: a request is due, and the call was not made, or ended without having done anything. */
long io_call(unsigned flags, const long *args);

/* The same for a call whose argument args[limit] points to an interval from now on, or is NULL. A
 * call that is repeated has what is left of it: *left, if it is not the first (`left` may be
 * NULL). */
long io_call_limited(unsigned flags, const long *args, unsigned limit, struct timespec *left);

#define IO_CALL_LIMITED(flags, limit, left, number, ...)                                           \
    IO_CALL_LIMITED_((flags), (limit), (left), (number), __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define IO_CALL_LIMITED_(flags, limit, left, number, a, b, c, d, e, f, ...)                        \
    io_call_limited((flags),                                                                       \
                    (const long[]){(number), (long)(a), (long)(b), (long)(c), (long)(d),           \
                                   (long)(e), (long)(f)},                                          \
                    (limit), (left))

/* A time on port_now's clock, UINT64_MAX: never (or in more than a century); what is left until
 * then. */
uint64_t io_deadline(const struct timespec *interval);
struct timespec io_time_left(uint64_t deadline);

/* The same for a caller between rt_call_begin and rt_call_end; they return -errno. stoppable: for a
 * user thread. PORT_CALL_STOPPED: it has signals, and the call was not made. PORT_CALL_REPEATS:
 * they ended the call, and the kernel would repeat it after a handler with SA_RESTART. point:
 * cancellation is enabled; a request ends the call with -ECANCELED. */
long io_call_plain(const long *args);
long io_call_stoppable(struct thread *self, bool point, const long *args);

#define IO_CALL(flags, number, ...) IO_CALL_((flags), (number), __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define IO_CALL_(flags, number, a, b, c, d, e, f, ...)                                             \
    io_call((flags), (const long[]){(number), (long)(a), (long)(b), (long)(c), (long)(d),          \
                                    (long)(e), (long)(f)})

/* Around functions of io.def that are to be no cancellation points: requests wait as if the caller
 * had disabled cancellation. */
struct io_past {
    struct thread *self; /* NULL: a foreign thread */
    uint32_t was;
};
struct io_past io_past_begin(void);
void io_past_end(const struct io_past *past);

/* The kind of a file, and how an attempt to read or write it asks not to block. RT_IO_KIND of
 * core/io.h. */
enum io_kind {
    IO_UNKNOWN = 0,
    IO_STREAM = 1,     /* a pipe, a socket, an event descriptor, ...: by RWF_NOWAIT */
    IO_OTHER_KIND = 2, /* ordinary files, devices: not at all, since an attempt would stop at data
                        * that is not in memory, and the rest would be a second call */
    /* Streams that refuse RWF_NOWAIT: Linux before 6.4 knows it for files only. */
    IO_SOCKET = 3, /* by MSG_DONTWAIT */
    IO_POLLED = 4, /* by poll(), before the call; another thread may still be faster */
};

/* The step after an attempt that was not to block. */
enum io_next {
    IO_DONE,  /* return the attempt's result; errno is set */
    IO_AGAIN, /* try again */
    IO_BLOCK, /* attempts and waits are impossible, or the CPU would only sleep meanwhile: make the
               * call for try.fd, by IO_CALL(try.how, ...), then io_left */
};

/* A call that makes attempts and waits. */
struct io_try {
    int fd;
    int number;        /* the program's, of which fd may be a copy */
    int option;        /* SO_RCVTIMEO or SO_SNDTIMEO: the socket's time-out; 0: none */
    enum io_kind kind; /* of a call that reads or writes; else unknown */
    size_t done;       /* bytes that attempts have moved */
    bool asked;        /* known not to be non-blocking; `deadline` is valid */
    bool trying;       /* between rt_io_try_begin and its end */
    bool copied;       /* fd is a copy that we made */
    bool offered;      /* others have run before the attempt: rt_io_offer */
    bool whole;   /* set by the caller after io_try_start: it reads as much as it is asked for */
    unsigned how; /* enum io_how of the call that IO_BLOCK asks for */
    int before;   /* errno before the call: a call that succeeds does not change it */
    uint64_t deadline;
    unsigned long irq;
    struct rt_io io;
    struct io_waiter waiter;
};

/* Begin. False: make the call, without attempts. events: those of poll() to wait for. IO_BY_KIND in
 * the option: attempts are made as the kind of file allows it. */
#define IO_BY_KIND 0x10000
bool io_try_start(struct io_try *try, int fd, uint32_t events, int flags);

/* The number for the next attempt, to be used at once. -1: the file is gone; the attempt then gets
 * EBADF. */
int io_try_fd(struct io_try *try);

/* The attempt has been made. io_next and io_take call this themselves. */
void io_try_over(struct io_try *try);

/* Continue after an attempt; `result` and errno are the attempt's. `more`: it has moved a part, and
 * the call moves all. Waits where the call would have waited. Not inlined: the thread may change
 * the worker, and with it the address of errno. */
enum io_next io_next(struct io_try *try, long result, bool more);

/* An attempt that moves nothing has found the file ready: the call is made for try->fd. IO_BLOCK;
 * or IO_DONE: no descriptor could be made for it (errno). */
enum io_next io_take(struct io_try *try);

/* After IO_BLOCK: pass the call's result. */
void io_left(struct io_try *try, long result);

/* The same after a call that was made for a part. more: go on with the rest; IO_AGAIN, else
 * IO_DONE. */
enum io_next io_left_part(struct io_try *try, long result, bool more);

/* The function's result: the bytes moved, else the last result. */
ALWAYS_INLINE ssize_t io_result(const struct io_try *try, ssize_t result)
{
    return try->done != 0 ? (ssize_t)try->done : result;
}

/* The first contiguous piece of the vector behind its first `done` bytes. *more: there is one. */
struct iovec io_rest(const struct iovec *iov, size_t n, size_t done, bool *more);

/* closefrom. It has no result, so it is not in io.def. */
void pirn_posix_closefrom(int first);

/* openat. */
int io_open(int at, const char *path, int flags, mode_t mode);

/* fcntl(fd, F_SETLKW or F_OFD_SETLKW, lock). */
int io_fcntl_lock(int fd, int command, void *lock);

#endif
