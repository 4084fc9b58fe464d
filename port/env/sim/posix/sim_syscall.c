/* SPDX-License-Identifier: MIT */
/*
 * sim_syscall.c (simulator) - the system calls that src/posix makes, as far as its tests come to
 * them: see sim_kernel.h. Any other fails the run.
 */
#include "sim_kernel.h"
#include "sim_posix.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "port_calls.h"

enum { NOT_YET = -10000 }; /* the call waits */

static bool is_device(int fd)
{
    return fd >= SIM_FD_DEVICES;
}

/* Read one byte, if there is one. */
static long read_file(int fd, char *buffer, bool waits)
{
    int id = sim_fd_take(fd);
    if (id == -EAGAIN) {
        return waits ? (long)NOT_YET : -EAGAIN;
    }
    if (id > 0) {
        *buffer = (char)id;
    }
    return id > 0 ? 1 : id;
}

static long status(int fd, void *to)
{
    struct statx *x = to;
    if (sim_fd_id(fd) == 0) {
        return -EBADF;
    }
    x->stx_mode = is_device(fd) ? S_IFCHR : S_IFIFO;
    return 0;
}

/* Of the kernel thread: where threads have masks of their own, only what a child or a new program
 * begins with. */
static void mask_change(int how, const uint64_t *set, uint64_t *old)
{
    struct sim_kthread *k = sim_kthread_self();
    if (old != NULL) {
        *old = k->mask;
    }
    if (set != NULL) {
        k->mask = how == SIG_BLOCK ? k->mask | *set : how == SIG_UNBLOCK ? k->mask & ~*set : *set;
    }
}

static long timed(uint64_t deadline)
{
    return sim.now >= deadline ? 0 : (long)NOT_YET;
}

/* Without descriptors: as pause(). */
static long poll_files(struct pollfd *fds, nfds_t n, uint64_t deadline)
{
    long ready = 0;
    sim_point(48, (uint32_t)n);
    for (nfds_t i = 0; i < n; i++) { /* all at one moment: it may sleep after that */
        fds[i].revents = (short)(sim_fd_peek(fds[i].fd) & (uint32_t)fds[i].events);
        ready += fds[i].revents != 0;
    }
    return ready != 0 ? ready : timed(deadline);
}

static long call_try(const long *a, uint64_t deadline)
{
    const struct iovec *iov = (const struct iovec *)a[2];
    switch (a[0]) {
    case SYS_read:
        return read_file((int)a[1], (char *)a[2], true);
    case SYS_readv:
        return read_file((int)a[1], iov->iov_base, true);
    case SYS_preadv2:
        return is_device((int)a[1]) ? -EOPNOTSUPP : read_file((int)a[1], iov->iov_base, false);
    case SYS_fcntl: /* F_GETFL */
        return 0;
    case SYS_statx:
        return status((int)a[1], (void *)a[5]);
    case SYS_getsockopt:
        return -ENOTSOCK;
    case SYS_flock:
        return read_file((int)a[1], (char[1]){0}, (a[2] & LOCK_NB) == 0);
    case SYS_ppoll:
        return poll_files((struct pollfd *)a[1], (nfds_t)a[2], deadline);
    case SYS_clock_nanosleep:
        return timed(deadline);
    case SYS_gettid:
        return (long)sim_current + 1;
    case SYS_rt_sigprocmask:
        mask_change((int)a[1], (const uint64_t *)a[2], (uint64_t *)a[3]);
        return 0;
    case SYS_kill:
        sim_kill((int)a[2]);
        return 0;
    case SYS_rt_sigqueueinfo:
        sim_point(52, (uint32_t)a[2]);
        sim_process_send((const siginfo_t *)a[3]);
        return 0;
    case SYS_execve:
        return sim_exec((const char *)a[1]);
    default:
        sim_fail("the simulated kernel has no system call %ld", a[0]);
    }
}

/* The kernel makes it again after a handler with SA_RESTART. */
static bool repeats(long call)
{
    return call == SYS_read || call == SYS_readv || call == SYS_flock;
}

static uint64_t deadline_of(const long *a)
{
    const struct timespec *t = (const struct timespec *)a[3];
    if ((a[0] != SYS_clock_nanosleep && a[0] != SYS_ppoll) || t == NULL) {
        return UINT64_MAX;
    }
    bool absolute = a[0] == SYS_clock_nanosleep && (a[2] & TIMER_ABSTIME);
    return (absolute ? 0 : sim.now) + (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* Signals that have come while it slept. NOT_YET: it goes on. */
static long interrupted(const long *args, bool stoppable)
{
    struct sim_kthread *k = sim_kthread_self();
    if (k->pending && !k->blocked) {
        sim_interrupt_take(stoppable ? SIM_SLEEPS : SIM_LIBRARY);
        if (stoppable && k->stopped) {
            return repeats(args[0]) ? PORT_CALL_REPEATS : -EINTR;
        }
    } else if (!sim.preempt || port_cpu_self() != NULL || sim_choose(16) != 0) {
        return NOT_YET;
    }
    *sim_disturbed() |= port_cpu_self() == NULL;
    return repeats(args[0]) ? (long)NOT_YET : -EINTR;
}

long sim_kernel_call(const long *args, bool stoppable)
{
    uint64_t deadline = deadline_of(args);
    for (;;) {
        long result = call_try(args, deadline);
        if (result != NOT_YET) {
            return result;
        }
        sim_kernel_sleep(deadline);
        result = interrupted(args, stoppable);
        if (result != NOT_YET) {
            return result;
        }
    }
}

long sim_syscall(long number, ...)
{
    long args[7] = {number};
    va_list list;
    va_start(list, number);
    for (unsigned i = 1; i < 7; i++) {
        args[i] = va_arg(list, long);
    }
    va_end(list);
    if (!sim_active) {
        return 0; /* a constructor looks at its mask */
    }
    sim_point(56, (uint32_t)number);
    long result = sim_kernel_call(args, false);
    sim_point(56, 0);
    if (result < 0) {
        *sim_errno() = (int)-result;
        return -1;
    }
    return result;
}
