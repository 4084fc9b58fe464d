/* SPDX-License-Identifier: MIT */
/*
 * io.h - shared by the calls of the C library that may block the kernel thread: io.c (reading and
 * writing), io_socket.c, io_poll.c, io_other.c.
 *
 * What they do for a user thread (for others: the system call):
 *   1. Where the kernel can say "not now" (sockets, pipes, ...) they ask it not to block. If it
 * would have, the thread waits for the descriptor (rt_io_wait) and tries again: no kernel thread is
 *      held up. Descriptors that the program itself made non-blocking are left alone.
 *   2. Everything else runs between rt_call_begin and rt_call_end: the CPU is given away if the
 * call turns out to block, or at once where it is known to. errno and results are the kernel's.
 * Those that are cancellation points (IO in io.def) look for a request at first (abi_glibc_io.c). A
 * request that comes later ends a wait of kind 1, and a call of kind 2 (IO_CALL): the function
 * returns -1 and ECANCELED, unless it has done part of its work, and the name's wrapper acts on it.
 * Signals end both likewise (signal.h): EINTR, or another attempt, as the handlers' SA_RESTART and
 * the function have it.
 */
#ifndef PIRN_POSIX_IO_H
#define PIRN_POSIX_IO_H

#include <aio.h>
#include <errno.h>
#include <poll.h>
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

#include "../core/carrier.h"
#include "../core/io.h"
#include "posix.h"

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
long io_call(unsigned how, const long *args);

/* The same for who is between rt_call_begin and rt_call_end: -errno. stoppable: of a user thread;
 * PORT_CALL_STOPPED: there are signals for it, and it was not made or is to be made again. point:
 * with cancellation enabled; a request ends it: -ECANCELED. */
long io_call_plain(const long *args);
long io_call_stoppable(struct thread *self, bool point, const long *args);

#define IO_CALL(how, number, ...) IO_CALL_((how), (number), __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define IO_CALL_(how, number, a, b, c, d, e, f, ...)                                               \
    io_call((how), (const long[]){(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
                                  (long)(f)})

/* Has the program made the descriptor non-blocking? */
bool io_nonblocking(int fd);

/* What comes after an attempt that was not to block. */
enum io_next {
    IO_DONE,  /* return the attempt's result; errno is right */
    IO_AGAIN, /* the descriptor is ready: try again */
    IO_BLOCK, /* it cannot be tried or waited for: make the call, between begin and end */
};

struct io_try {
    int fd;
    short events; /* of poll(), to wait for */
    int option;   /* SO_RCVTIMEO, SO_SNDTIMEO: the socket's time-out; 0: it has none */
    bool by_flag; /* the attempt was made with RWF_NOWAIT, which not all files know */
};

/* `result` and errno are those of the attempt. Waits where the call would have. Not inlined: the
 * thread may change the worker, and errno its place. */
enum io_next io_next(const struct io_try *try, long result);

/* Write what lies behind the first `done` bytes of the vector; by send with these flags if there
 * are any. Returns how much was written. */
ssize_t io_write_rest(int fd, const struct iovec *iov, int n, size_t done, int flags);

/* openat. */
int io_open(int at, const char *path, int flags, mode_t mode);

/* fcntl(fd, F_SETLKW or F_OFD_SETLKW, lock). */
int io_fcntl_lock(int fd, int command, void *lock);

#endif
