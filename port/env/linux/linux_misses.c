/* SPDX-License-Identifier: MIT */
/*
 * linux_misses.c (Linux) - misses of the shared cache, port_misses.h: the processor's counters, by
 * perf_event_open.
 *
 * Each carrier counts its own kernel thread, in user mode: cache misses, which is the last level on
 * the processors that count them, and instructions. Both are one group, and come by one read. It
 * begins with its first switch after the start. A carrier that cannot go on counting (the program
 * has closed its descriptor) counts nothing from then on.
 *
 * Invariant: a carrier's counters (port_env.h) belong to its kernel thread, which is the caller.
 */
#include "linux.h"
#include "port_misses.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUP = 2, LINE = 64 };

/* The calling kernel thread. -errno. */
static int counter_open(uint64_t event, int group)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof(attr),
                                   .config = event,
                                   .read_format = PERF_FORMAT_GROUP,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? (int)fd : -errno;
}

/* Opens both: misses first, whose descriptor reads both. 0 or -errno. */
static int counters_open(int fds[GROUP])
{
    fds[0] = counter_open(PERF_COUNT_HW_CACHE_MISSES, -1);
    if (fds[0] < 0) {
        return fds[0];
    }
    fds[1] = counter_open(PERF_COUNT_HW_INSTRUCTIONS, fds[0]);
    if (fds[1] < 0) {
        syscall(SYS_close, fds[0]);
        return fds[1];
    }
    return 0;
}

const char *port_misses_refusal(void)
{
    int fds[GROUP], saved = errno, error = counters_open(fds);
    if (error == 0) {
        syscall(SYS_close, fds[1]);
        syscall(SYS_close, fds[0]);
    }
    errno = saved;
    switch (-error) {
    case 0:
        return NULL;
    case EACCES:
    case EPERM:
        return "the kernel does not let this process count cache misses (perf_event_open; see "
               "/proc/sys/kernel/perf_event_paranoid)";
    case ENOSYS:
        return "the kernel has no perf_event_open, which counts cache misses";
    case EMFILE:
    case ENFILE:
        return "too many files are open for counters of cache misses (perf_event_open)";
    default:
        return "this machine has no hardware counter of cache misses (perf_event_open)";
    }
}

uint32_t port_misses_line(void)
{
    return LINE;
}

static bool counters_read(int fd, struct port_misses *to)
{
    struct {
        uint64_t n, value[GROUP];
    } got;
    if (syscall(SYS_read, fd, &got, sizeof(got)) != (long)sizeof(got) || got.n != GROUP) {
        return false;
    }
    *to = (struct port_misses){.misses = got.value[0], .work = got.value[1]};
    return true;
}

/* In the child of a fork the descriptors count the parent's kernel thread: it opens its own. */
static void counting_begin(struct port_carrier *k)
{
    int fds[GROUP];
    k->misses_tid = k->tid;
    k->misses_fd = counters_open(fds) == 0 ? fds[0] : -1;
    k->missed = k->worked = 0;
}

struct port_misses port_misses_take(struct cpu *self)
{
    struct port_carrier *k = rt_cpu_port(self)->carrier;
    struct port_misses now, since = {0};
    int saved = errno;
    RT_ASSERT(self == port_cpu_self());
    if (k->misses_tid != k->tid) {
        counting_begin(k);
    }
    if (k->misses_fd >= 0 && counters_read(k->misses_fd, &now)) {
        since.misses = now.misses - k->missed;
        since.work = now.work - k->worked;
        k->missed = now.misses;
        k->worked = now.work;
    } else {
        k->misses_fd = -1;
    }
    errno = saved;
    return since;
}
