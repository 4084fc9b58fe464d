/* SPDX-License-Identifier: MIT */
/*
 * posix_io_poll.c - poll, select, epoll_wait. Each looks once without waiting. If nothing is ready
 * and there are few descriptors, the thread waits for them, with a record for each on its stack,
 * and looks again. With many descriptors, or where its CPU has nothing else to run
 * (rt_call_sleeps), it makes the call without its CPU.
 */
#include "../signals/posix_signal.h"
#include "port_numbers.h"
#include "posix_io.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define FEW 32 /* descriptors */

static const struct timespec no_time = {0, 0};

static bool is_zero(const struct timespec *t)
{
    return t != NULL && t->tv_sec == 0 && t->tv_nsec == 0;
}

static bool is_valid(const struct timespec *t)
{
    return t == NULL || (t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < 1000000000);
}

/* Wait for any of the records, which stay linked if it returns true. False: the time limit has
 * passed, or the wait is impossible (*block), or a handler has run (*interrupted). The call has no
 * result yet that a request could lose. */
static bool wait_linked(struct io_waiter *w, uint64_t deadline, bool *block, bool *interrupted)
{
    int error = w->n == 0 ? rt_sleep_point(deadline) : rt_io_wait(w, deadline);
    if (error == -ECANCELED || error == -EINTR) {
        rt_io_end(w);
    }
    if (error == -ECANCELED) {
        posix_point();
    }
    if (error == -EINTR) {
        *interrupted = posix_interrupted(false);
        return !*interrupted;
    }
    if (w->n == 0) {
        return false;
    }
    for (unsigned i = 0; i < w->n; i++) {
        *block |= w->io[i].got == RT_IO_FAILED;
    }
    return error == 0 && !*block;
}

/* For poll and select, which look by number each time, as the kernel does. A closed file keeps the
 * wait until it reports; then the next look is at what the number means by then. */
static bool wait_few(struct rt_io *io, unsigned n, uint64_t deadline, bool *block,
                     bool *interrupted)
{
    struct io_waiter w = RT_IO_WAITER(io, n);
    bool again = wait_linked(&w, deadline, block, interrupted);
    rt_io_end(&w);
    return again;
}

/* Another signal turns a look that finds nothing into EINTR. Either a handler of the program has
 * run (*interrupted), or the signal was the runtime's own and the look is repeated. */
static bool is_cut_short(long ready, bool *interrupted)
{
    if (ready >= 0 || io_errno() != EINTR) {
        return false;
    }
    *interrupted = posix_interrupted(false);
    return true;
}

/* Better the call itself than a wait? Not under a lent mask: the call would begin after handlers
 * that have run since the look, and they end it. */
static bool call_is_better(void)
{
    return !posix_mask_is_lent(rt_self()) && rt_call_sleeps();
}

static long poll_now(struct pollfd *fds, nfds_t n)
{
    return syscall(SYS_ppoll, fds, n, &no_time, NULL, (size_t)8);
}

static unsigned poll_records(struct rt_io *io, const struct pollfd *fds, nfds_t n)
{
    unsigned used = 0;
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0) {
            io[used++] =
                (struct rt_io){.fd = fds[i].fd, .events = (uint32_t)(unsigned short)fds[i].events};
        }
    }
    return used;
}

/* A call with a mask is a call without one, under that mask. */
static bool mask_lent(const sigset_t *mask)
{
    if (mask == NULL || io_is_plain() || !posix_signals_begin()) {
        return false;
    }
    posix_mask_lend(posix_signal_set(mask));
    return true;
}

static int mask_returned(int result)
{
    int error = io_errno();
    posix_mask_back();
    return result >= 0 ? result : posix_fail(error);
}

int pirn_posix_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
                     const sigset_t *mask)
{
    struct timespec left;
    struct rt_io io[FEW];
    if (mask_lent(mask)) {
        return mask_returned(pirn_posix_ppoll(fds, n, limit, NULL));
    }
    if (io_is_plain() || mask != NULL || n > FEW || !is_valid(limit) || is_zero(limit)) {
        left = limit != NULL ? *limit : no_time;
        return (int)IO_CALL(!is_zero(limit), SYS_ppoll, fds, n, limit != NULL ? &left : NULL, mask,
                            8);
    }
    uint64_t deadline = io_deadline(limit);
    bool block = false, waits = true, interrupted = false;
    posix_signals_expect();
    for (;;) {
        long ready = poll_now(fds, n);
        if (!is_cut_short(ready, &interrupted)) {
            if (ready != 0 || !waits) {
                return (int)ready;
            }
            block = call_is_better();
            waits = block || wait_few(io, poll_records(io, fds, n), deadline, &block, &interrupted);
        }
        if (interrupted) {
            return posix_fail(EINTR);
        }
        if (block) {
            left = io_time_left(deadline);
            return (int)IO_CALL(IO_BLOCKS, SYS_ppoll, fds, n, deadline != UINT64_MAX ? &left : NULL,
                                NULL, 8);
        }
    }
}

int pirn_posix_poll(struct pollfd *fds, nfds_t n, int ms)
{
    struct timespec limit = {ms / 1000, (ms % 1000) * 1000000L};
    return pirn_posix_ppoll(fds, n, ms >= 0 ? &limit : NULL, NULL);
}

struct sets {
    fd_set read, write, except;
};

static void sets_load(struct sets *s, const fd_set *r, const fd_set *w, const fd_set *e)
{
    memset(s, 0, sizeof(*s));
    s->read = r != NULL ? *r : s->read;
    s->write = w != NULL ? *w : s->write;
    s->except = e != NULL ? *e : s->except;
}

static void sets_store(const struct sets *s, fd_set *r, fd_set *w, fd_set *e)
{
    if (r != NULL) {
        *r = s->read;
    }
    if (w != NULL) {
        *w = s->write;
    }
    if (e != NULL) {
        *e = s->except;
    }
}

static unsigned set_records(struct rt_io *io, int n, const struct sets *s)
{
    unsigned used = 0;
    for (int fd = 0; fd < n; fd++) {
        uint32_t events = (FD_ISSET(fd, &s->read) ? POLLIN | POLLHUP : 0u) |
                          (FD_ISSET(fd, &s->write) ? POLLOUT : 0u) |
                          (FD_ISSET(fd, &s->except) ? POLLPRI : 0u);
        if (events != 0) {
            if (used == FEW) {
                return FEW + 1;
            }
            io[used++] = (struct rt_io){.fd = fd, .events = events};
        }
    }
    return used;
}

/* Descriptors that another thread closes during the wait count as ready, as in Linux since 5.16.
 * Returns the number of bits set in `got`. */
static long closed_now(const struct sets *asked, struct sets *got, int n)
{
    long bits = 0;
    memset(got, 0, sizeof(*got));
    for (int fd = 0; fd < n; fd++) {
        bool wanted = FD_ISSET(fd, &asked->read) || FD_ISSET(fd, &asked->write);
        if (wanted && syscall(SYS_fcntl, fd, F_GETFD) < 0) {
            if (FD_ISSET(fd, &asked->read)) {
                FD_SET(fd, &got->read);
                bits++;
            }
            if (FD_ISSET(fd, &asked->write)) {
                FD_SET(fd, &got->write);
                bits++;
            }
        }
    }
    return bits;
}

/* `left` gets the remaining time, as from the system call. */
static int select_until(int n, fd_set *r, fd_set *w, fd_set *e, uint64_t deadline)
{
    struct sets asked, got;
    struct rt_io io[FEW];
    bool block = false, waits = true, waited = false, interrupted = false;
    long ready = 0;
    posix_signals_expect();
    sets_load(&asked, r, w, e);
    unsigned used = set_records(io, n, &asked);
    while (used <= FEW) {
        got = asked;
        struct timespec now = {0, 0};
        ready = syscall(SYS_pselect6, n, &got.read, &got.write, &got.except, &now, NULL);
        if (ready < 0 && waited && io_errno() == EBADF) {
            ready = closed_now(&asked, &got, n);
        }
        if (!is_cut_short(ready, &interrupted)) {
            if (ready != 0 || !waits) {
                break;
            }
            block = call_is_better();
            waits = block || wait_few(io, used, deadline, &block, &interrupted);
            waited = true;
        }
        if (interrupted) {
            return posix_fail(EINTR);
        }
        if (block) {
            break;
        }
    }
    if (block || used > FEW) {
        struct timespec left = io_time_left(deadline);
        return (int)IO_CALL(IO_BLOCKS, SYS_pselect6, n, r, w, e,
                            deadline != UINT64_MAX ? &left : NULL, NULL);
    }
    if (ready >= 0) {
        sets_store(&got, r, w, e);
    }
    return (int)ready;
}

int pirn_posix_pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *limit,
                       const sigset_t *mask)
{
    struct {
        const sigset_t *mask;
        size_t size;
    } argument = {mask, 8};
    if (mask_lent(mask)) {
        return mask_returned(pirn_posix_pselect(n, r, w, e, limit, NULL));
    }
    if (io_is_plain() || mask != NULL || n < 0 || n > FD_SETSIZE || !is_valid(limit) ||
        is_zero(limit)) {
        struct timespec left = limit != NULL ? *limit : no_time;
        return (int)IO_CALL(!is_zero(limit), SYS_pselect6, n, r, w, e, limit != NULL ? &left : NULL,
                            mask != NULL ? &argument : NULL);
    }
    return select_until(n, r, w, e, io_deadline(limit));
}

int pirn_posix_select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *limit)
{
    if (limit == NULL) {
        return pirn_posix_pselect(n, r, w, e, NULL, NULL);
    }
    if (limit->tv_sec < 0 || limit->tv_usec < 0) {
        return posix_fail(EINVAL);
    }
    struct timespec t = {limit->tv_sec + limit->tv_usec / 1000000, limit->tv_usec % 1000000 * 1000};
    uint64_t deadline = io_deadline(&t);
    int ready = pirn_posix_pselect(n, r, w, e, &t, NULL), error = io_errno();
    if (deadline != UINT64_MAX) {
        t = io_time_left(deadline); /* Linux does it after EINTR, too */
        *limit = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    }
    return ready >= 0 ? ready : posix_fail(error);
}

static long epoll_now(struct io_try *try, struct epoll_event *events, int n)
{
    long ready = syscall(SYS_epoll_pwait, io_try_fd(try), events, n, 0, NULL, (size_t)8);
    int error = errno;
    io_try_over(try);
    return ready >= 0 ? ready : posix_fail(error);
}

/* The kernel does not say how much of the time is left, so each call has what is. */
static int epoll_block(struct io_try *try, struct epoll_event *events, int n, uint64_t deadline)
{
    int ready;
    if (io_take(try) == IO_DONE) {
        return -1;
    }
    do {
        struct timespec left = io_time_left(deadline);
        long ms =
            deadline == UINT64_MAX ? -1 : left.tv_sec * 1000 + (left.tv_nsec + 999999) / 1000000;
        ready = (int)IO_CALL(IO_BLOCKS | IO_ONCE, SYS_epoll_pwait, try->fd, events, n, ms, NULL, 8);
    } while (ready < 0 && io_errno() == IO_DISTURBED);
    io_left(try, ready < 0 ? -1 : 0);
    return ready;
}

/* An epoll descriptor is readable when it has something to report. */
static int epoll_until(int fd, struct epoll_event *events, int n, uint64_t deadline)
{
    struct io_try try;
    bool block = false, waits = true, interrupted = false;
    (void)io_try_start(&try, fd, POLLIN, 0);
    posix_signals_expect();
    while (!block && !interrupted) {
        long ready = epoll_now(&try, events, n);
        if (ready < 0 && io_errno() == EINTR) {
            rt_io_end(&try.waiter); /* before handlers run */
        }
        if (!is_cut_short(ready, &interrupted)) {
            if (ready != 0 || !waits) {
                int error = io_errno();
                rt_io_end(&try.waiter);
                posix_fail(ready >= 0 ? try.before : error);
                return (int)ready;
            }
            block = try.waiter.linked == 0 && call_is_better();
            waits = block || wait_linked(&try.waiter, deadline, &block, &interrupted);
        }
    }
    if (block) {
        return epoll_block(&try, events, n, deadline);
    }
    rt_io_end(&try.waiter);
    return posix_fail(EINTR);
}

int pirn_posix_epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
    if (mask_lent(mask)) {
        return mask_returned(pirn_posix_epoll_pwait(fd, events, n, ms, NULL));
    }
    if (io_is_plain() || mask != NULL || ms == 0) {
        return (int)IO_CALL(ms != 0, SYS_epoll_pwait, fd, events, n, ms, mask, 8);
    }
    struct timespec limit = {ms / 1000, (ms % 1000) * 1000000L};
    return epoll_until(fd, events, n, io_deadline(ms >= 0 ? &limit : NULL));
}

int pirn_posix_epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
    return pirn_posix_epoll_pwait(fd, events, n, ms, NULL);
}

int pirn_posix_epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *limit,
                            const sigset_t *mask)
{
    if (mask_lent(mask)) {
        return mask_returned(pirn_posix_epoll_pwait2(fd, events, n, limit, NULL));
    }
    if (mask == NULL && is_valid(limit)) {
        uint64_t ms = limit == NULL ? 0
                                    : (uint64_t)limit->tv_sec * 1000 +
                                          ((uint64_t)limit->tv_nsec + 999999) / 1000000;
        if (ms <= INT_MAX) {
            return pirn_posix_epoll_pwait(fd, events, n, limit != NULL ? (int)ms : -1, NULL);
        }
    }
    return (int)IO_CALL(!is_zero(limit), SYS_epoll_pwait2, fd, events, n, limit, mask, 8);
}
