/* SPDX-License-Identifier: MIT */
/*
 * linux_reactor.c (Linux) - descriptors for which threads wait (core/io.h): one epoll instance,
 * made when the runtime starts.
 *
 * Each request is one report (EPOLLONESHOT). So nothing must be known about descriptors that are
 * closed and whose numbers are used again: EPOLL_CTL_MOD says that the number is new (ENOENT).
 *
 * Three kinds of threads fetch the reports. A worker without work sleeps here instead of on its
 * futex (`fetcher`; one at a time). Kicks reach it through an eventfd, which stays readable until
 * it has seen it, even if others fetch meanwhile. A worker that searches for work fetches, too.
 * While there is no fetcher, the monitor fetches: it sleeps until there is a report (`watched`), in
 * poll(), which takes no report from a worker in epoll_wait; or it looks every REACTOR_NS. A worker
 * that goes to sleep while threads wait becomes the fetcher if there is none, or sleeps in a call
 * and sees to it that the monitor fetches. So if there is no fetcher, the monitor looks.
 *
 * epoll identifies a request by number and file, and forgets it when the file's last descriptor is
 * closed. So EPOLL_CTL_MOD finds a request only if the number still means the same file.
 */
#include "linux.h"
#include "port_foreign.h"
#include "port_io.h"
#include "port_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define KICK UINT64_MAX /* data of the eventfd */

#define FD_FLOOR 1000

static struct {
    int epoll;        /* -1: not made */
    int kick;         /* eventfd */
    uint32_t making;  /* lock */
    uint32_t fetcher; /* a worker sleeps here */
    uint32_t coarse;  /* and wakes up by milliseconds */
    int bump;         /* eventfd: wakes the monitor */
    uint32_t watched; /* the monitor sleeps here */
    long process;     /* whose descriptors they are */
} reactor = {.epoll = -1, .kick = -1, .bump = -1};

int fd_move_up(int fd)
{
    int up = fd >= 0 ? (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR) : -1;
    if (up >= 0) {
        syscall(SYS_close, fd);
        return up;
    }
    return fd;
}

static int reactor_make(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = KICK};
    int epoll = fd_move_up((int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC));
    int kick = fd_move_up((int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
    int bump = fd_move_up((int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (epoll < 0 || kick < 0 || bump < 0 ||
        syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, kick, &event) != 0) {
        int error = errno;
        syscall(SYS_close, epoll);
        syscall(SYS_close, kick);
        syscall(SYS_close, bump);
        return -error;
    }
    RT_ASSERT(__atomic_load_n(&reactor.making, __ATOMIC_RELAXED) == 1 && reactor.epoll < 0);
    reactor.process = syscall(SYS_getpid);
    __atomic_store_n(&reactor.kick, kick, __ATOMIC_RELAXED);
    __atomic_store_n(&reactor.bump, bump, __ATOMIC_RELAXED);
    __atomic_store_n(&reactor.epoll, epoll, __ATOMIC_RELEASE); /* ORDER(reactor) */
    return 0;
}

/* The instance, or -errno. */
static int reactor_get(void)
{
    int epoll = __atomic_load_n(&reactor.epoll, __ATOMIC_ACQUIRE); /* ORDER(reactor) */
    if (likely(epoll >= 0)) {
        return epoll;
    }
    int error = 0;
    for (unsigned round = 0; __atomic_exchange_n(&reactor.making, 1, __ATOMIC_ACQUIRE) != 0;
         round++) { /* ORDER(reactor) */
        port_relax(round);
    }
    if (__atomic_load_n(&reactor.epoll, __ATOMIC_RELAXED) < 0) {
        error = reactor_make();
    }
    __atomic_store_n(&reactor.making, 0, __ATOMIC_RELEASE); /* ORDER(reactor) */
    return error == 0 ? reactor.epoll : error;
}

/* Made when the runtime starts, for two reasons. The program may have used all descriptors up by
 * the first wait, and each wait would cost a kernel thread. And in a process of several kernel
 * threads, growing the table of descriptors takes the kernel 10 to 20 ms (synchronize_rcu), with
 * all who look at it waiting: so it grows before there are any. Without it, the first wait tries
 * again. */
void fd_init(void)
{
    int saved = errno;
    reactor_get();
    errno = saved;
}

int port_io_arm(int fd, uint32_t events)
{
    int saved = errno, epoll = reactor_get();
    struct epoll_event event = {.events = events | EPOLLONESHOT,
                                .data.u64 = (uint64_t)(uint32_t)fd};
    if (epoll < 0) {
        return epoll;
    }
    int known = 0;
    if (fd == epoll || fd == reactor.kick || fd == reactor.bump) {
        known = -EBADF;
    } else if (syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_MOD, fd, &event) != 0) {
        known = errno == ENOENT && syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, fd, &event) == 0
                    ? 1
                    : -errno;
    }
    /* Who waits is counted (rt_io_waiting). The monitor, before it sleeps, clears what is read
     * here, and then reads that count. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(monitor) */
    if (reactor_unattended() && !monitor_attends()) {
        monitor_wakes();
    }
    errno = saved;
    return known;
}

static void forget(int fd)
{
    struct epoll_event none = {0};
    RT_ASSERT(syscall(SYS_getpid) == reactor.process);
    syscall(SYS_epoll_ctl, reactor.epoll, EPOLL_CTL_DEL, fd, &none);
}

int port_io_copy(int fd)
{
    int saved = errno, copy;
    if (syscall(SYS_getpid) != reactor.process) {
        return -ECHILD;
    }
    copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR);
    copy = copy < 0 ? (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0) : copy;
    copy = copy < 0 ? -errno : copy;
    forget(fd);
    errno = saved;
    return copy;
}

/* A child of fork shares the instance with its parent, whose requests are not for it to change. */
void port_io_drop(int fd)
{
    int saved = errno;
    if (syscall(SYS_getpid) == reactor.process) {
        forget(fd);
    }
    syscall(SYS_close, fd);
    errno = saved;
}

unsigned port_io_own(unsigned first)
{
    const unsigned own[] = {
        (unsigned)__atomic_load_n(&reactor.epoll, __ATOMIC_RELAXED),
        (unsigned)__atomic_load_n(&reactor.kick, __ATOMIC_RELAXED),
        (unsigned)__atomic_load_n(&reactor.bump, __ATOMIC_RELAXED),
        (unsigned)signals_descriptor(),
    };
    unsigned least = UINT_MAX; /* as -1 is */
    for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        least = own[i] >= first && own[i] < least ? own[i] : least;
    }
    return least;
}

/* Returns the number of reports. */
static int deliver(const struct epoll_event *events, int n)
{
    int reports = 0;
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 != KICK) {
            RT_ASSERT(events[i].data.u64 <= INT_MAX);
            rt_io_ready((int)events[i].data.u64, events[i].events);
            reports++;
        }
    }
    return reports;
}

static struct timespec left_until(uint64_t deadline)
{
    uint64_t now = port_now(), ns = deadline > now ? deadline - now : 0;
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

int port_io_block(int fd, uint32_t events, uint64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = (short)events};
    int n;
    do {
        struct timespec t = left_until(deadline);
        n = (int)syscall(SYS_ppoll, &p, 1, deadline != UINT64_MAX ? &t : NULL, NULL, (size_t)8);
    } while (n < 0 && errno == EINTR);
    return n == 0 ? -ETIMEDOUT : n < 0 || (p.revents & POLLNVAL) ? -EBADF : 0;
}

#ifdef SYS_epoll_wait
static int fetch_old(int epoll, struct epoll_event *events, int ms)
{
    return (int)syscall(SYS_epoll_wait, epoll, events, BATCH, ms);
}
#else
static int fetch_old(int epoll, struct epoll_event *events, int ms)
{
    (void)epoll;
    (void)events;
    (void)ms;
    return -1;
}
#endif

/* A filter of system calls answers as it likes (EPERM, ENOSYS) to a call that it does not know or
 * allow. */
static bool is_refused(int n)
{
    return n < 0 && errno != EINTR;
}

/* ms: as for epoll_wait. */
static int fetch(int epoll, struct epoll_event *events, int ms)
{
    int n = (int)syscall(SYS_epoll_pwait, epoll, events, BATCH, ms, NULL, (size_t)8);
    return is_refused(n) ? fetch_old(epoll, events, ms) : n;
}

void port_io_poll(void)
{
    struct epoll_event events[BATCH];
    int saved = errno,
        epoll = __atomic_load_n(&reactor.epoll, __ATOMIC_ACQUIRE); /* ORDER(reactor) */
    if (epoll >= 0) {
        deliver(events, fetch(epoll, events, 0));
    }
    errno = saved;
}

static int wait_until(int epoll, struct epoll_event *events, uint64_t deadline)
{
    struct timespec t = left_until(deadline);
    int n = (int)syscall(SYS_epoll_pwait2, epoll, events, BATCH, deadline != UINT64_MAX ? &t : NULL,
                         NULL, (size_t)8);
    if (is_refused(n)) { /* also before Linux 5.11: rounded up to milliseconds */
        __atomic_store_n(&reactor.coarse, 1, __ATOMIC_RELAXED);
        uint64_t ms = deadline != UINT64_MAX
                          ? (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u + 1
                          : UINT64_MAX;
        n = fetch(epoll, events, ms == UINT64_MAX ? -1 : ms > 60000 ? 60000 : (int)ms);
    }
    return n;
}

static void drain(int eventfd)
{
    uint64_t count;
    syscall(SYS_read, eventfd, &count, sizeof(count));
}

bool reactor_sleep(uint32_t *permit, uint64_t deadline)
{
    struct epoll_event events[BATCH];
    uint32_t none = 0;
    int n = 0;
    int epoll = __atomic_load_n(&reactor.epoll, __ATOMIC_ACQUIRE); /* ORDER(reactor) */
    if (epoll < 0 || __atomic_load_n(&reactor.fetcher, __ATOMIC_RELAXED) != 0 ||
        __atomic_exchange_n(&reactor.fetcher, 1, __ATOMIC_ACQ_REL) != 0) { /* ORDER(reactor) */
        return false;
    }
    if (__atomic_compare_exchange_n(permit, &none, 3, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) { /* ORDER(permit) */
        n = wait_until(epoll, events, deadline);
    }
    RT_ASSERT(none <= 1);
    UNUSED uint32_t before =
        __atomic_exchange_n(permit, 0, __ATOMIC_SEQ_CST); /* ORDER(permit) ORDER(monitor) */
    RT_ASSERT(before == 1 || before == 3);
    RT_ASSERT(__atomic_load_n(&reactor.fetcher, __ATOMIC_RELAXED) == 1 && port_cpu_self() != NULL);
    __atomic_store_n(&reactor.fetcher, 0, __ATOMIC_SEQ_CST); /* ORDER(reactor) ORDER(monitor) */
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == KICK) {
            drain(reactor.kick);
        }
    }
    deliver(events, n);
    return true;
}

static void post(int eventfd)
{
    uint64_t one = 1;
    int saved = errno;
    RT_ASSERT(eventfd >= 0); /* somebody has slept there */
    syscall(SYS_write, eventfd, &one, sizeof(one));
    errno = saved;
}

void reactor_kick(void)
{
    post(reactor.kick);
}

void reactor_bump(void)
{
    post(reactor.bump);
}

/* A kick that came when its worker had left stays readable. It is nobody's while there can be no
 * fetcher: the caller is it for a moment. */
static void drain_kick(void)
{
    if (__atomic_exchange_n(&reactor.fetcher, 1, __ATOMIC_ACQ_REL) == 0) { /* ORDER(reactor) */
        drain(reactor.kick);
        __atomic_store_n(&reactor.fetcher, 0, __ATOMIC_RELEASE); /* ORDER(reactor) */
    }
}

enum watch reactor_watch(uint32_t *permit, uint64_t deadline)
{
    uint32_t none = 0;
    int epoll = __atomic_load_n(&reactor.epoll, __ATOMIC_ACQUIRE); /* ORDER(reactor) */
    if (epoll < 0 || !reactor_unattended()) {
        return WATCH_NOT;
    }
    RT_ASSERT(port_cpu_self() == NULL && port_is_helper());
    struct pollfd p[] = {{.fd = epoll, .events = POLLIN}, {.fd = reactor.bump, .events = POLLIN}};
    struct timespec t = left_until(deadline);
    __atomic_store_n(&reactor.watched, 1, __ATOMIC_SEQ_CST); /* ORDER(monitor) */
    if (__atomic_compare_exchange_n(permit, &none, 4, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) { /* ORDER(permit) */
        syscall(SYS_ppoll, p, 2L, deadline != UINT64_MAX ? &t : NULL, NULL, 0L);
    }
    __atomic_store_n(&reactor.watched, 0, __ATOMIC_SEQ_CST);                   /* ORDER(monitor) */
    UNUSED uint32_t before = __atomic_exchange_n(permit, 0, __ATOMIC_SEQ_CST); /* ORDER(permit) */
    RT_ASSERT(before == 1 || before == 4);
    if (p[1].revents != 0) {
        drain(reactor.bump);
    }
    struct epoll_event events[BATCH];
    if (p[0].revents == 0 || deliver(events, fetch(epoll, events, 0)) != 0) {
        return WATCH_SLEPT;
    }
    drain_kick();
    return WATCH_EMPTY;
}

bool reactor_is_exact(void)
{
    return __atomic_load_n(&reactor.coarse, __ATOMIC_RELAXED) == 0;
}

bool reactor_unattended(void)
{
    return rt_io_waiting() != 0 && __atomic_load_n(&reactor.fetcher, __ATOMIC_RELAXED) == 0 &&
           __atomic_load_n(&reactor.watched, __ATOMIC_RELAXED) == 0;
}

void port_io_attend(void)
{
    if (reactor_unattended()) {
        monitor_bump();
    }
}

void reactor_forked(void)
{
    if (reactor.epoll >= 0) {
        syscall(SYS_close, reactor.epoll);
        syscall(SYS_close, reactor.kick);
        syscall(SYS_close, reactor.bump);
    }
    reactor.epoll = reactor.kick = reactor.bump = -1;
    reactor.making = reactor.fetcher = reactor.watched = 0;
}
