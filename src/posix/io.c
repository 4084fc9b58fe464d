/* SPDX-License-Identifier: MIT */
/*
 * io.c - read, write and their relatives; and what io.h declares.
 */
#include "io.h"
#include "signal.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x8
#endif

long io_call_plain(const long *args)
{
    long result = syscall(args[0], args[1], args[2], args[3], args[4], args[5], args[6]);
    return result == -1 ? -errno : result;
}

/* EINTR is the request's, if one is due now: the signal that was sent for it has come. */
long io_call_stoppable(struct thread *self, bool point, const long *args)
{
    uint32_t bits = CANCEL_SIGNALLED | (point ? (uint32_t)CANCEL_REQUESTED : 0);
    long result = PORT_CALL_STOPPED;
    if (rt_cancel_call_begin(self)) {
        result = port_stop_call(&self->cancel, bits, args);
        rt_cancel_call_end(self);
    }
    bool due = point && cancel_is_due(at_load_rlx(&self->cancel));
    return due && (result == PORT_CALL_STOPPED || result == -EINTR) ? -ECANCELED : result;
}

/* A signal of our own (a tick that came just before the call) is none to the program: again. Limits
 * of time are what the kernel has left of them. */
static long make_call(struct thread *self, unsigned how, const long *args)
{
    struct rt_call call;
    bool point = !(how & IO_NO_POINT) && cancel_is_enabled(self);
    long result;
    rt_call_begin(&call, how & IO_BLOCKS);
    do {
        port_disturbed = false;
        result = point || rt_signals ? io_call_stoppable(self, point, args) : io_call_plain(args);
    } while (result == -EINTR && port_disturbed &&
             !(at_load_rlx(&self->cancel) & CANCEL_SIGNALLED));
    rt_call_end(&call);
    return result;
}

/* One that a signal has ended, or kept from being made, is made again if only handlers with
 * SA_RESTART have run; if it is not one that the kernel makes again (EINTR), it is not. */
long io_call(unsigned how, const long *args)
{
    if (io_is_plain()) {
        return syscall(args[0], args[1], args[2], args[3], args[4], args[5], args[6]);
    }
    struct thread *self = rt_self();
    long result;
    bool again;
    posix_signals_expect();
    do {
        result = make_call(self, how, args);
        bool stopped = result == PORT_CALL_STOPPED, told = stopped || result == -EINTR;
        again = told && (at_load_rlx(&self->cancel) & CANCEL_SIGNALLED) != 0
                    ? !posix_interrupted(stopped)
                    : stopped && posix_signals_ran() != RAN_PLAIN;
        result = stopped ? -EINTR : result;
    } while (again);
    if (at_load_rlx(&self->cancel) & CANCEL_SIGNALLED) {
        posix_signals_take();
    }
    if (result < 0 && result >= -4095) {
        return posix_fail((int)-result);
    }
    return result;
}

NOINLINE int io_errno(void)
{
    return errno;
}

bool io_nonblocking(int fd)
{
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK);
}

static uint64_t time_out(int fd, int option)
{
    struct timeval t;
    socklen_t size = sizeof(t);
    if (option == 0 || syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &t, &size) != 0 ||
        (t.tv_sec == 0 && t.tv_usec == 0)) {
        return UINT64_MAX;
    }
    return port_now() + (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* 0: ready; EAGAIN: it is not to wait, or has waited long enough; ECANCELED: a request is due;
 * EINTR: a handler has run; ENOTSUP: it cannot wait. Sockets with a limit of time are not read
 * again in spite of SA_RESTART, as in Linux (signal(7)). */
static int await(const struct io_try *try)
{
    if (io_nonblocking(try->fd)) {
        return EAGAIN;
    }
    struct rt_io io = {.fd = try->fd, .events = (uint32_t)(unsigned short)try->events};
    uint64_t deadline = time_out(try->fd, try->option);
    posix_signals_expect();
    int error = rt_io_wait(&io, 1, deadline);
    if (error == -EINTR) {
        return posix_interrupted(deadline == UINT64_MAX) ? EINTR : 0;
    }
    return error == -ECANCELED      ? ECANCELED
           : error != 0             ? EAGAIN
           : io.got == RT_IO_FAILED ? ENOTSUP
                                    : 0;
}

static bool flag_is_unknown(int error)
{
    return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ESPIPE;
}

NOINLINE enum io_next io_next(const struct io_try *try, long result)
{
    int error = errno;
    if (result >= 0) {
        return IO_DONE;
    }
    if (try->by_flag && flag_is_unknown(error)) {
        return IO_BLOCK;
    }
    if (error != EAGAIN) {
        return IO_DONE;
    }
    error = await(try);
    if (error == EAGAIN || error == ECANCELED || error == EINTR) {
        posix_fail(error);
        return IO_DONE;
    }
    return error == 0 ? IO_AGAIN : IO_BLOCK;
}

/* One attempt that does not block. With offset -1 it uses the file's own. */
static ssize_t try_vector(long number, int fd, const struct iovec *iov, int n)
{
    return syscall(number, fd, iov, (long)n, -1L, -1L, (long)RWF_NOWAIT);
}

/* IO_DONE: *got is the result; else IO_BLOCK. */
static enum io_next read_nowait(int fd, const struct iovec *iov, int n, ssize_t *got)
{
    const struct io_try try = {fd, POLLIN, SO_RCVTIMEO, true};
    enum io_next next = io_is_plain() ? IO_BLOCK : IO_AGAIN;
    while (next == IO_AGAIN) {
        *got = try_vector(SYS_preadv2, fd, iov, n);
        next = io_next(&try, *got);
    }
    return next;
}

ssize_t pirn_posix_readv(int fd, const struct iovec *iov, int n)
{
    ssize_t got = -1;
    enum io_next next = read_nowait(fd, iov, n, &got);
    return next == IO_DONE ? got : IO_CALL(IO_MAY_BLOCK, SYS_readv, fd, iov, n);
}

ssize_t pirn_posix_read(int fd, void *buffer, size_t size)
{
    struct iovec iov = {buffer, size};
    ssize_t got = -1;
    enum io_next next = read_nowait(fd, &iov, 1, &got);
    return next == IO_DONE ? got : IO_CALL(IO_MAY_BLOCK, SYS_read, fd, buffer, size);
}

/* A blocking write takes all. Part of it may be written when it cannot go on: then that counts. */
ssize_t pirn_posix_write(int fd, const void *buffer, size_t size)
{
    const struct io_try try = {fd, POLLOUT, SO_SNDTIMEO, true};
    enum io_next next = io_is_plain() ? IO_BLOCK : IO_AGAIN;
    size_t done = 0;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        struct iovec iov = {(char *)buffer + done, size - done};
        put = try_vector(SYS_pwritev2, fd, &iov, 1);
        next = io_next(&try, put);
        done += put > 0 ? (size_t)put : 0;
        if (put > 0 && done < size) {
            next = IO_AGAIN;
        }
    }
    if (next == IO_BLOCK) {
        put = IO_CALL(IO_MAY_BLOCK, SYS_write, fd, (const char *)buffer + done, size - done);
        done += put > 0 ? (size_t)put : 0;
    }
    return done != 0 ? (ssize_t)done : put;
}

ssize_t pirn_posix_writev(int fd, const struct iovec *iov, int n)
{
    const struct io_try try = {fd, POLLOUT, SO_SNDTIMEO, true};
    enum io_next next = io_is_plain() ? IO_BLOCK : IO_AGAIN;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        put = try_vector(SYS_pwritev2, fd, iov, n);
        next = io_next(&try, put);
    }
    if (next == IO_BLOCK) {
        return IO_CALL(IO_MAY_BLOCK, SYS_writev, fd, iov, n);
    }
    return put <= 0 ? put : put + io_write_rest(fd, iov, n, (size_t)put, 0);
}

ssize_t io_write_rest(int fd, const struct iovec *iov, int n, size_t done, int flags)
{
    ssize_t more = 0;
    for (int i = 0; i < n; i++) {
        if (done >= iov[i].iov_len) {
            done -= iov[i].iov_len;
            continue;
        }
        const char *from = (const char *)iov[i].iov_base + done;
        size_t size = iov[i].iov_len - done;
        ssize_t put =
            flags != 0 ? pirn_posix_send(fd, from, size, flags) : pirn_posix_write(fd, from, size);
        done = 0;
        more += put > 0 ? put : 0;
        if (put != (ssize_t)size) {
            break;
        }
    }
    return more;
}

/* With an offset of their own: files, which do not keep anybody waiting for long. */
ssize_t pirn_posix_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_pread64, fd, buffer, size, offset);
}

ssize_t pirn_posix_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_pwrite64, fd, buffer, size, offset);
}

ssize_t pirn_posix_preadv(int fd, const struct iovec *iov, int n, off_t offset)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_preadv, fd, iov, n, offset, 0);
}

ssize_t pirn_posix_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_pwritev, fd, iov, n, offset, 0);
}

/* With the offset -1 they are readv and writev, of pipes and sockets, too. */
ssize_t pirn_posix_preadv2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_preadv2, fd, iov, n, offset, 0, flags);
}

ssize_t pirn_posix_pwritev2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_pwritev2, fd, iov, n, offset, 0, flags);
}

ssize_t pirn_posix_sendfile(int out, int in, off_t *offset, size_t size)
{
    return IO_CALL(IO_NO_POINT, SYS_sendfile, out, in, offset, size);
}

ssize_t pirn_posix_splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t size,
                          unsigned flags)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_splice, in, in_at, out, out_at, size, flags);
}

int pirn_posix_fsync(int fd)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_fsync, fd);
}

int pirn_posix_fdatasync(int fd)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_fdatasync, fd);
}

int pirn_posix_msync(void *low, size_t size, int flags)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_msync, low, size, flags);
}
