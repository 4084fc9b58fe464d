/* SPDX-License-Identifier: MIT */
/*
 * posix_io_try.c - attempts that do not block, and waits between them, for one descriptor:
 * posix_io.h.
 *
 * The first attempt uses the program's number. After a wait, attempts are for the file that the
 * thread has waited for (core/io.h), until the call ends or a signal handler must run. The kernel,
 * too, gives the file up when a call is interrupted, and begins again by number. No record stays
 * linked while a handler runs, because the handler may leave the function by a jump.
 *
 * A call that has moved a part continues with the same file or not at all: then it returns that
 * part.
 */
#include "../signals/posix_signal.h"
#include "posix_io.h"

#include <fcntl.h>
#include <sys/stat.h>

NOINLINE int io_errno(void)
{
    return errno;
}

static bool is_nonblocking(int fd)
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

/* statx may be missing in the kernel or forbidden by a filter. It does not ask network file
 * systems. NO_MODE: it cannot be known, as that of a number that is closed. */
#define NO_MODE ((mode_t)-1)
static mode_t mode_of(int fd)
{
    struct statx x;
    struct stat s;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &x) == 0) {
        return x.stx_mode;
    }
    return fstat(fd, &s) == 0 ? s.st_mode : NO_MODE;
}

static enum io_kind kind_learn(int fd, uint32_t state)
{
    enum io_kind kind = state & RT_IO_KIND;
    if (kind == IO_UNKNOWN) {
        mode_t mode = mode_of(fd);
        if (mode == NO_MODE) {
            return IO_OTHER_KIND;
        }
        bool stream = S_ISFIFO(mode) || S_ISSOCK(mode) || (mode & S_IFMT) == 0;
        kind = stream ? IO_STREAM : IO_OTHER_KIND;
        rt_io_learn(fd, state, kind);
    }
    return kind;
}

/* The stream has refused RWF_NOWAIT, before anything was moved or waited for. */
static enum io_next refused(struct io_try *try)
{
    uint32_t state = try->io.since;
    try->kind = S_ISSOCK(mode_of(try->fd)) ? IO_SOCKET : IO_POLLED;
    rt_io_learn(try->fd, state, try->kind);
    try->io.since = (state & ~RT_IO_KIND) | (uint32_t)try->kind;
    return IO_AGAIN;
}

bool io_try_start(struct io_try *try, int fd, uint32_t events, int flags)
{
    try->fd = try->number = fd;
    try->done = 0;
    try->copied = false;
    try->whole = false;
    try->how = IO_MAY_BLOCK;
    try->before = io_errno();
    if (io_is_plain()) {
        return false;
    }
    uint32_t state = rt_io_state(fd);
    try->option = flags & ~IO_BY_KIND;
    try->kind = flags & IO_BY_KIND ? kind_learn(fd, state) : IO_UNKNOWN;
    try->asked = try->trying = try->offered = false;
    try->io = (struct rt_io){.fd = fd, .events = events, .since = state};
    try->waiter = (struct io_waiter)RT_IO_WAITER(&try->io, 1);
    if ((flags & IO_BY_KIND) && (try->kind == IO_UNKNOWN || try->kind == IO_OTHER_KIND)) {
        return false;
    }
    return true;
}

/* Gives the file up, and begins again by the program's number. */
static void anew(struct io_try *try)
{
    rt_io_end(&try->waiter);
    try->asked = false;
    try->io = (struct rt_io){.fd = try->fd,
                             .events = try->io.events,
                             .since = try->done == 0 ? rt_io_state(try->fd) : try->io.since};
}

int io_try_fd(struct io_try *try)
{
    if (try->waiter.linked == 0) {
        return try->fd;
    }
    int fd = rt_io_try_begin(&try->waiter, &try->irq);
    try->trying = fd >= 0;
    if (fd == -EAGAIN) {
        anew(try);
        return try->done == 0 ? try->fd : -1;
    }
    return fd >= 0 ? fd : -1;
}

void io_try_over(struct io_try *try)
{
    if (try->trying) {
        try->trying = false;
        rt_io_try_end(&try->waiter, try->irq);
    }
}

/* Reads O_NONBLOCK and the time-out at the first wait. */
static bool may_wait(struct io_try *try)
{
    if (!try->asked) {
        if (is_nonblocking(try->fd)) {
            return false;
        }
        try->deadline = time_out(try->fd, try->option);
        try->asked = true;
    }
    return true;
}

/* A receive or send with a time limit is not restarted after SA_RESTART, as in Linux (signal(7)).
 * EAGAIN: wait again for the rest. */
static int interrupted(struct io_try *try)
{
    bool limited = try->deadline != UINT64_MAX;
    rt_io_end(&try->waiter);
    if (posix_interrupted(!limited)) {
        return EINTR;
    }
    if (try->done != 0) {
        return EAGAIN;
    }
    anew(try);
    try->asked = limited; /* the time limit keeps running */
    return 0;
}

/* It may wait. 0: try again. EAGAIN: it has waited long enough. ECANCELED: a request is due. EINTR:
 * a handler has run. EBADF: the file is gone. ENOTSUP: it cannot wait. */
static int await(struct io_try *try)
{
    int error;
    RT_ASSERT(try->asked);
    try->io.partial = try->done != 0;
    do {
        posix_signals_expect();
        error = -rt_io_wait(&try->waiter, try->deadline);
        if (error == EINTR && (error = interrupted(try)) == 0) {
            return 0;
        }
    } while (error == EAGAIN);
    if (error == 0 && (try->io.got & RT_IO_LATE)) {
        anew(try);
        return try->done == 0 ? 0 : EBADF;
    }
    return error == ETIMEDOUT            ? EAGAIN
           : error != 0                  ? error
           : try->io.got & RT_IO_GONE    ? EBADF
           : try->io.got == RT_IO_FAILED ? ENOTSUP
                                         : 0;
}

/* A filter may answer EPERM or EACCES. If the file is to blame, and not the flag, then the other
 * ways to ask return the same error. */
static bool flag_is_refused(int error)
{
    return error == EOPNOTSUPP || error == ENOSYS || error == EPERM || error == EACCES;
}

/* Makes a copy of the descriptor for a call that may block, so that the kernel holds the file. If
 * that fails, a call that has moved a part returns it. */
static enum io_next block(struct io_try *try)
{
    bool linked = try->waiter.linked != 0;
    if (!linked && try->done == 0) {
        return IO_BLOCK; /* has not begun: the number counts */
    }
    int fd = io_try_fd(try);
    int copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0), error = errno;
    io_try_over(try);
    if (copy >= 0 && !linked && !rt_io_same(try->fd, try->io.since)) {
        syscall(SYS_close, copy);
        copy = -1;
        error = EBADF;
    }
    bool same = copy < 0 && try->kind == IO_POLLED && rt_io_same(try->fd, try->io.since);
    rt_io_end(&try->waiter);
    if (same && (error == EMFILE || error == ENFILE)) {
        return IO_BLOCK; /* by number: poll() has just said that it is ready, so it is short */
    }
    if (copy < 0) {
        posix_fail(error);
        return IO_DONE;
    }
    try->fd = copy;
    try->copied = true;
    return IO_BLOCK;
}

NOINLINE enum io_next io_take(struct io_try *try)
{
    io_try_over(try);
    return block(try);
}

void io_left(struct io_try *try, long result)
{
    int error = io_errno();
    try->done += result > 0 ? (size_t)result : 0;
    if (try->copied) {
        syscall(SYS_close, try->fd);
    }
    posix_fail(result < 0 && try->done == 0 ? error : try->before);
}

enum io_next io_left_part(struct io_try *try, long result, bool more)
{
    io_left(try, result);
    if (!more) {
        return IO_DONE;
    }
    try->fd = try->number;
    try->copied = false;
    anew(try);
    return IO_AGAIN;
}

static enum io_next over(struct io_try *try, int error)
{
    rt_io_end(&try->waiter);
    posix_fail(error != 0 && try->done == 0 ? error : try->before);
    return IO_DONE;
}

/* Is the call, which has done nothing and may wait, better made as it is? Not one that moves all
 * that it is given (writing, MSG_WAITALL): a signal of the runtime's own could end it after a part.
 * Nor one with a time limit, which would begin again after each such signal; nor where others were
 * ready just now. */
static bool call_is_better(const struct io_try *try)
{
    return try->waiter.linked == 0 && try->done == 0 && try->io.events == POLLIN && !try->whole &&
           try->deadline == UINT64_MAX && !try->offered && rt_call_sleeps();
}

/* Others run first, once in a call, which has done nothing: it might as well begin when it is its
 * turn again, for the file that the number means then. As await; EAGAIN: wait; ENOTSUP: make the
 * call, since that is a file of another kind. */
static int offer(struct io_try *try)
{
    posix_signals_expect();
    if (try->offered) {
        rt_io_offer_lost();
        return EAGAIN;
    }
    try->offered = rt_io_offer();
    if (!try->offered) {
        return EAGAIN;
    }
    if (posix_interrupted(try->deadline == UINT64_MAX)) {
        return EINTR;
    }
    if (!rt_io_same(try->fd, try->io.since)) {
        anew(try);
        return try->kind == IO_UNKNOWN || kind_learn(try->fd, try->io.since) == try->kind ? 0
                                                                                          : ENOTSUP;
    }
    return 0;
}

NOINLINE enum io_next io_next(struct io_try *try, long result, bool more)
{
    int error = result < 0 ? errno : more ? EAGAIN : 0;
    io_try_over(try);
    try->done += result > 0 ? (size_t)result : 0;
    bool ready = error == EOPNOTSUPP && try->kind == IO_POLLED;
    bool wrong = (error == EINVAL || error == ESPIPE) && try->kind == IO_STREAM;
    if (ready || wrong) { /* wrong: the call itself, or the way to ask */
        return block(try);
    }
    if (try->kind == IO_STREAM && flag_is_refused(error)) {
        return try->waiter.linked == 0 && try->done == 0 ? refused(try) : block(try);
    }
    if (error != EAGAIN) {
        return over(try, error);
    }
    if (!may_wait(try)) {
        return over(try, EAGAIN);
    }
    if (try->waiter.linked == 0 && try->done == 0 && (error = offer(try)) != EAGAIN) {
        return error == 0 ? IO_AGAIN : error == ENOTSUP ? IO_BLOCK : over(try, error);
    }
    if (call_is_better(try)) {
        try->how = IO_BLOCKS;
        return IO_BLOCK;
    }
    error = await(try);
    return error == 0 ? IO_AGAIN : error == ENOTSUP ? block(try) : over(try, error);
}

struct iovec io_rest(const struct iovec *iov, size_t n, size_t done, bool *more)
{
    *more = false;
    for (size_t i = 0; i < n; i++) {
        if (done < iov[i].iov_len) {
            *more = true;
            return (struct iovec){(char *)iov[i].iov_base + done, iov[i].iov_len - done};
        }
        done -= iov[i].iov_len;
    }
    return (struct iovec){NULL, 0};
}
