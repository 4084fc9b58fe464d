/* SPDX-License-Identifier: MIT */
/*
 * posix_io.h - shared by the calls of the C library that may block the kernel thread: posix_io.c
 * (reading and writing), posix_io_try.c (attempts and waits), posix_io_socket.c, posix_io_poll.c,
 * posix_io_other.c, posix_closing.c.
 *
 * What they do for a user thread (for others: the system call):
 *   1. Where the kernel can say "not now" (sockets, pipes, ...) they ask it not to block. If it
 *      would have, the thread waits for the descriptor (rt_io_wait) and tries again: no kernel
 *      thread is held up. Descriptors that the program itself made non-blocking are left alone; it
 *      is the flag at the time of the first attempt that counts, as in the kernel. From the first
 *      wait on the call belongs to the file, whatever becomes of the number (posix_io_try.c).
 *   2. Everything else runs between rt_call_begin and rt_call_end: the CPU is given away if the
 *      call turns out to block, or at once where it is known to. errno and results are the
 *      kernel's.
 * Those that are cancellation points (IO in io.def) look for a request at first (abi_glibc_io.c). A
 * request that comes later ends a wait of kind 1, and a call of kind 2 (IO_CALL): the function
 * returns -1 and ECANCELED, unless it has done part of its work, and the name's wrapper acts on it.
 * Signals end both likewise (posix_signal.h): EINTR, or another attempt, as the handlers'
 * SA_RESTART and the function have it.
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

/* The functions and their prototypes, apart from the system's headers, which give some of these
 * names other attributes or argument types. */
#define IO(ret, name, params, args) ret pirn_posix_##name params;
#define IO_OTHER IO
#include "io.def"
#undef IO
#undef IO_OTHER

/* Nothing but the system call is to be made: by a foreign kernel thread, or by a signal handler
 * that has interrupted the runtime (POSIX lets handlers call read, write, poll and others). */
ALWAYS_INLINE bool io_is_plain(void)
{
    return posix_is_foreign() || !port_may_wait();
}

/* errno after a wait. Its address may have changed, which compilers do not expect. */
int io_errno(void);

/* How a system call is made. */
enum io_how {
    IO_MAY_BLOCK = 0,
    IO_BLOCKS = 1,   /* as far as we know */
    IO_NO_POINT = 2, /* a request does not end it */
};

/* args: the call's number, then six arguments. Result and errno as the system's; ECANCELED: a
 * request is due, and it was not made, or ended without having done anything. */
long io_call(unsigned flags, const long *args);

/* The same for who is between rt_call_begin and rt_call_end: -errno. stoppable: of a user thread;
 * PORT_CALL_STOPPED: there are signals for it, and it was not made; PORT_CALL_REPEATS: they have
 * ended it, and the kernel would make it again after a handler with SA_RESTART. point: with
 * cancellation enabled; a request ends it: -ECANCELED. */
long io_call_plain(const long *args);
long io_call_stoppable(struct thread *self, bool point, const long *args);

#define IO_CALL(flags, number, ...) IO_CALL_((flags), (number), __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define IO_CALL_(flags, number, a, b, c, d, e, f, ...)                                             \
    io_call((flags), (const long[]){(number), (long)(a), (long)(b), (long)(c), (long)(d),          \
                                    (long)(e), (long)(f)})

/* What is known of a file: RT_IO_KIND of core/io.h. */
enum io_kind {
    IO_UNKNOWN = 0,
    IO_STREAM = 1,     /* a pipe, a socket, an event descriptor, ...: may be asked not to block */
    IO_OTHER_KIND = 2, /* ordinary files, devices: an attempt would be cut short by what is not in
                        * memory, and the rest would be a call of its own */
};

/* What comes after an attempt that was not to block. */
enum io_next {
    IO_DONE,  /* return the attempt's result; errno is right */
    IO_AGAIN, /* try again */
    IO_BLOCK, /* it cannot be tried or waited for: make the call for try.fd, by IO_CALL, then
                 io_left */
};

/* A call that tries and waits. */
struct io_try {
    int fd;
    int option;   /* SO_RCVTIMEO, SO_SNDTIMEO: the socket's time-out; 0: it has none */
    bool by_flag; /* the attempt is made with RWF_NOWAIT, which not all files know */
    size_t done;  /* bytes that attempts have moved */
    bool asked;   /* it is known not to be non-blocking; `deadline` is valid */
    bool trying;  /* between rt_io_try_begin and its end */
    bool copied;  /* fd is a copy of our own */
    int before;   /* errno, which a call that succeeds does not change */
    uint64_t deadline;
    unsigned long irq;
    struct rt_io io;
    struct io_waiter waiter;
};

/* False: make the call, without attempts. events: of poll(), to wait for. With RWF_NOWAIT: IO_FLAG
 * beside the option; it depends on the kind of file. */
#define IO_FLAG 0x10000
bool io_try_start(struct io_try *try, int fd, uint32_t events, int flags);

/* The number for the next attempt, to be used at once. -1: the file is gone; then the attempt gets
 * EBADF. */
int io_try_fd(struct io_try *try);

/* The attempt has been made. io_next and io_take say so. */
void io_try_over(struct io_try *try);

/* `result` and errno are those of the attempt. `more`: it has moved a part, and the call is to move
 * all. Waits where the call would have. Not inlined: the thread may change the worker, and errno
 * its place. */
enum io_next io_next(struct io_try *try, long result, bool more);

/* The file is ready, as an attempt that moves nothing has found: the call is to be made for
 * try->fd. IO_BLOCK; IO_DONE: there is no descriptor for it (errno). */
enum io_next io_take(struct io_try *try);

/* After IO_BLOCK: that call's result. */
void io_left(struct io_try *try, long result);

/* What the function returns: what has been moved, else the last result. */
ALWAYS_INLINE ssize_t io_result(const struct io_try *try, ssize_t result)
{
    return try->done != 0 ? (ssize_t)try->done : result;
}

/* What lies behind the first `done` bytes of the vector, as far as it is in one piece. *more: there
 * is anything. */
struct iovec io_rest(const struct iovec *iov, size_t n, size_t done, bool *more);

/* As its name says; no value, which io.def has not. */
void pirn_posix_closefrom(int first);

/* openat. */
int io_open(int at, const char *path, int flags, mode_t mode);

/* fcntl(fd, F_SETLKW or F_OFD_SETLKW, lock). */
int io_fcntl_lock(int fd, int command, void *lock);

#endif
