/* SPDX-License-Identifier: MIT */
/*
 * posix_io.c - read, write and their relatives, and the system calls that posix_io.h declares.
 */
#include "posix_io.h"
#include "../signals/posix_signal.h"
#include "mutant.h"
#include "port_posix.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x8
#endif

long io_call_plain(const long *args)
{
    long result = syscall(args[0], args[1], args[2], args[3], args[4], args[5], args[6]);
    return result == -1 ? -errno : result;
}

static long call_stoppable(struct thread *self, uint32_t bits, const long *args)
{
    long result = PORT_CALL_STOPPED;
    if (rt_cancel_call_begin(self)) {
        result = port_stop_call(&self->cancel, bits, args);
        rt_cancel_call_end(self);
    }
    return result;
}

/* For a call that is no cancellation point: requests wait as if the caller had disabled
 * cancellation, also a request that is due. make_call acts on them afterwards if the type is
 * asynchronous. */
static long call_past_requests(struct thread *self, const long *args)
{
    uint32_t was = rt_cancel_set(self, MUTANT(CALL_POINT) ? 0 : CANCEL_DISABLED, 0);
    long result = call_stoppable(self, CANCEL_SIGNALLED, args);
    if (!(was & CANCEL_DISABLED)) {
        rt_cancel_set(self, 0, CANCEL_DISABLED);
    }
    return result;
}

/* EINTR belongs to a request that is due now: the signal that was sent for it has arrived. */
long io_call_stoppable(struct thread *self, bool point, const long *args)
{
    long result = point ? call_stoppable(self, CANCEL_SIGNALLED | CANCEL_REQUESTED, args)
                        : call_past_requests(self, args);
    bool due = point && cancel_is_due(at_load_rlx(&self->cancel));
    bool ended = result == PORT_CALL_STOPPED || result == PORT_CALL_REPEATS || result == -EINTR;
    return due && (ended || MUTANT(CALL_DROPS)) ? -ECANCELED : result;
}

/* One of the runtime's own signals has ended the call (a tick just before it). */
static bool is_disturbed(const struct thread *self, long result)
{
    return result == -EINTR && port_disturbed && !(at_load_rlx(&self->cancel) & CANCEL_SIGNALLED);
}

/* Repeats a call that is disturbed, because the program is not to notice. The kernel has updated
 * the time limits of some calls. A caller that must not begin again with the whole limit uses
 * IO_ONCE, or io_call_limited. */
static long make_call(struct thread *self, unsigned flags, const long *args)
{
    struct rt_call call;
    bool point = !(flags & IO_NO_POINT) && cancel_is_enabled(self), again;
    long result;
    rt_call_begin(&call, flags & IO_BLOCKS);
    do {
        port_disturbed = false;
        result = point || rt_signals ? io_call_stoppable(self, point, args) : io_call_plain(args);
        again = is_disturbed(self, result);
    } while (again && !(flags & IO_ONCE));
    rt_call_end(&call);
    if (!point) {
        rt_cancel_async();
    }
    return again ? -IO_DISTURBED : result;
}

/* Decides after signals whether the call is made again. A call that signals kept from starting is
 * made again: the handlers run before it, as if they had come a little earlier. The exception is a
 * mask that is lent for the call, because the call waits for those signals. A call that signals
 * have ended is made again if only handlers with SA_RESTART have run and the kernel restarts such a
 * call. Otherwise *result is the call's result. */
static bool is_made_again(const struct thread *self, long *result)
{
    bool repeats = *result == PORT_CALL_REPEATS;
    if (*result == PORT_CALL_STOPPED && posix_mask_is_lent(self)) {
        *result = -EINTR;
        return !posix_interrupted(false);
    }
    if (*result == PORT_CALL_STOPPED) {
        posix_signals_take();
        posix_signals_expect();
        *result = -EINTR;
        return !MUTANT(CALL_UNMADE);
    }
    if (!repeats && *result != -EINTR) {
        return false;
    }
    *result = -EINTR;
    return at_load_rlx(&self->cancel) & CANCEL_SIGNALLED
               ? !posix_interrupted(repeats)
               : repeats && posix_signals_ran() != RAN_PLAIN;
}

/* The part that sets errno. EINTR appears only if the kernel says so. */
long io_call(unsigned flags, const long *args)
{
    if (io_is_plain()) {
        return syscall(args[0], args[1], args[2], args[3], args[4], args[5], args[6]);
    }
    struct thread *self = rt_self();
    long result;
    bool begun, again;
    posix_signals_expect();
    do {
        result = make_call(self, flags, args);
        begun = result != PORT_CALL_STOPPED;
        again = is_made_again(self, &result);
    } while (again && !(begun && (flags & IO_ONCE)));
    if (again) {
        result = -IO_DISTURBED;
    }
    if (at_load_rlx(&self->cancel) & CANCEL_SIGNALLED) {
        posix_signals_take();
    }
    if (result == -IO_DISTURBED && !MUTANT(CALL_HIDES) && posix_interrupted(flags & IO_RESTARTS)) {
        result = -EINTR; /* a handler has run since: the caller may not wait again */
    }
    if (result < 0 && result >= -4095) {
        return posix_fail((int)-result);
    }
    return result;
}

uint64_t io_deadline(const struct timespec *interval)
{
    if (interval == NULL || (uint64_t)interval->tv_sec > UINT32_MAX) {
        return UINT64_MAX;
    }
    return port_now() + (uint64_t)interval->tv_sec * 1000000000u + (uint64_t)interval->tv_nsec;
}

struct timespec io_time_left(uint64_t deadline)
{
    uint64_t now = port_now(), ns = deadline > now ? deadline - now : 0;
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* The program's limit is read only after the kernel has read it, which reports bad addresses. */
long io_call_limited(unsigned flags, const long *args, unsigned limit, struct timespec *left)
{
    const struct timespec *whole = (const struct timespec *)args[limit];
    if (whole == NULL) {
        return io_call(flags, args);
    }
    struct timespec rest;
    uint64_t began = port_now();
    long again[7], result = io_call(flags | IO_ONCE, args);
    if (result >= 0 || io_errno() != IO_DISTURBED) {
        return result;
    }
    left = left != NULL ? left : &rest;
    memcpy(again, args, sizeof(again));
    again[limit] = (long)left;
    uint64_t deadline = io_deadline(whole), waited = port_now() - began;
    deadline = deadline == UINT64_MAX ? deadline : deadline - waited;
    do {
        *left = deadline == UINT64_MAX ? *whole : io_time_left(deadline);
        result = io_call(flags | IO_ONCE, again);
    } while (result < 0 && io_errno() == IO_DISTURBED);
    return result;
}

struct io_past io_past_begin(void)
{
    struct io_past past = {.self = NULL};
    if (!io_is_plain()) {
        past.self = rt_self();
        past.was = rt_cancel_set(past.self, CANCEL_DISABLED, 0);
    }
    return past;
}

void io_past_end(const struct io_past *past)
{
    if (past->self != NULL && !(past->was & CANCEL_DISABLED)) {
        rt_cancel_set(past->self, 0, CANCEL_DISABLED);
    }
}

/* To read nothing is no call of recvmsg, which would wait for a message. */
static ssize_t try_message(int fd, bool out, const struct iovec *iov, int n)
{
    struct msghdr message = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    if (n < 0 || n > IOV_MAX) {
        return posix_fail(EINVAL);
    }
    if (out) {
        return syscall(SYS_sendmsg, fd, &message, MSG_DONTWAIT);
    }
    for (int i = 0; i < n; i++) {
        if (iov[i].iov_len != 0) {
            return syscall(SYS_recvmsg, fd, &message, MSG_DONTWAIT);
        }
    }
    return 0;
}

/* EAGAIN: the call would block. EOPNOTSUPP: it would not, and is to be made. */
static ssize_t try_poll(int fd, bool out)
{
    struct pollfd p = {.fd = fd, .events = out ? POLLOUT : POLLIN}; /* poll() ignores -1 */
    struct timespec now = {0, 0};
    long ready;
    do {
        ready = syscall(SYS_ppoll, &p, 1L, &now, NULL, 0L);
    } while (ready < 0 && errno == EINTR); /* also after handlers with SA_RESTART */
    return ready < 0 ? -1 : posix_fail(fd < 0 ? EBADF : ready == 0 ? EAGAIN : EOPNOTSUPP);
}

/* One attempt that does not block. Offset -1 means the file's own offset. */
static ssize_t try_vector(struct io_try *try, bool out, const struct iovec *iov, int n)
{
    int fd = io_try_fd(try);
    switch (try->kind) {
    case IO_SOCKET:
        return try_message(fd, out, iov, n);
    case IO_POLLED:
        return try_poll(fd, out);
    default:
        return syscall(out ? SYS_pwritev2 : SYS_preadv2, fd, iov, (long)n, -1L, -1L,
                       (long)RWF_NOWAIT);
    }
}

/* IO_DONE: *got is the result. IO_BLOCK: the caller makes the call. */
static enum io_next read_nowait(struct io_try *try, int fd, const struct iovec *iov, int n,
                                ssize_t *got)
{
    enum io_next next =
        io_try_start(try, fd, POLLIN, SO_RCVTIMEO | IO_BY_KIND) ? IO_AGAIN : IO_BLOCK;
    while (next == IO_AGAIN) {
        *got = try_vector(try, false, iov, n);
        next = io_next(try, *got, false);
    }
    return next;
}

ssize_t pirn_posix_readv(int fd, const struct iovec *iov, int n)
{
    struct io_try try;
    ssize_t got = -1;
    if (read_nowait(&try, fd, iov, n, &got) == IO_BLOCK) {
        got = IO_CALL(try.how, SYS_readv, try.fd, iov, n);
        io_left(&try, got);
    }
    return got;
}

ssize_t pirn_posix_read(int fd, void *buffer, size_t size)
{
    struct io_try try;
    struct iovec iov = {buffer, size};
    ssize_t got = -1;
    if (read_nowait(&try, fd, &iov, 1, &got) == IO_BLOCK) {
        got = IO_CALL(try.how, SYS_read, try.fd, buffer, size);
        io_left(&try, got);
    }
    return got;
}

/* A pipe that poll() reports takes up to PIPE_BUF bytes whole, without waiting. A longer write may
 * wait, and a signal of the runtime's may then end it after a part. True: the whole vector can be
 * written by one call. False: *piece is the next piece, of at most PIPE_BUF bytes. */
static bool is_short(const struct iovec *iov, int n, size_t done, struct iovec *piece)
{
    bool more;
    size_t size = 0;
    for (int i = 0; i < n && size <= PIPE_BUF + done; i++) {
        size += iov[i].iov_len;
    }
    if (done == 0 && size <= PIPE_BUF) {
        return true;
    }
    *piece = io_rest(iov, (size_t)n, done, &more);
    piece->iov_len = piece->iov_len < PIPE_BUF ? piece->iov_len : PIPE_BUF;
    return false;
}

/* A blocking write writes everything. If an error ends it after a part, the result is that part.
 * The first attempt is for the whole vector, later ones for one piece, so no vector is copied.
 * number: SYS_write, of the vector's only piece, or SYS_writev. */
static ssize_t write_all(int fd, const struct iovec *iov, int n, long number)
{
    struct io_try try;
    struct iovec rest;
    enum io_next next =
        io_try_start(&try, fd, POLLOUT, SO_SNDTIMEO | IO_BY_KIND) ? IO_AGAIN : IO_BLOCK;
    bool more = true;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        put = try.done == 0 ? try_vector(&try, true, iov, n) : try_vector(&try, true, &rest, 1);
        if (put > 0) {
            rest = io_rest(iov, (size_t)n, try.done + (size_t)put, &more);
        }
        next = io_next(&try, put, put > 0 && more);
        if (next == IO_BLOCK && try.kind == IO_POLLED && !is_short(iov, n, try.done, &rest)) {
            put = IO_CALL(try.how, SYS_write, try.fd, rest.iov_base, rest.iov_len);
            io_rest(iov, (size_t)n, try.done + (put > 0 ? (size_t)put : 0), &more);
            next = io_left_part(&try, put, put > 0 && more);
        }
    }
    if (next == IO_BLOCK) {
        put = try.done != 0 ? IO_CALL(try.how, SYS_write, try.fd, rest.iov_base, rest.iov_len)
              : number == SYS_write
                  ? IO_CALL(try.how, SYS_write, try.fd, iov->iov_base, iov->iov_len)
                  : IO_CALL(try.how, SYS_writev, try.fd, iov, n);
        io_left(&try, put);
    }
    return io_result(&try, put);
}

ssize_t pirn_posix_write(int fd, const void *buffer, size_t size)
{
    struct iovec iov = {(void *)buffer, size};
    return write_all(fd, &iov, 1, SYS_write);
}

ssize_t pirn_posix_writev(int fd, const struct iovec *iov, int n)
{
    return write_all(fd, iov, n, SYS_writev);
}

/* Calls with an offset are for files, which do not block for long. */
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

/* With the offset -1 these are readv and writev, also of pipes and sockets. */
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
