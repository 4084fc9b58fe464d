/* SPDX-License-Identifier: MIT */
/*
 * linux_limits.c - limits of this process: that of its memory; whether there is room for the start;
 * errors in words, with the limits that may be the reason. The last is called where the runtime
 * cannot go on.
 */
#include "linux.h"
#include "port_processes.h"
#include "port_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct limit {
    const char *name;
    __rlimit_resource_t resource;
    unsigned unit; /* bytes of the shell's unit */
    const char *what;
} limits[] = {
    {"ulimit -u", RLIMIT_NPROC, 1, "processes and kernel threads of this user"},
    {"ulimit -v", RLIMIT_AS, 1024, "KiB of address space"},
    {"ulimit -d", RLIMIT_DATA, 1024, "KiB of data"},
    {"ulimit -s", RLIMIT_STACK, 1024, "KiB for the stack of each kernel thread"},
};

/* By the kernel itself: getrlimit may be the program's own. RLIMIT_DATA counts private writable
 * mappings, too. */
uint64_t port_memory_limit(void)
{
    static const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = UINT64_MAX;
    int saved = errno;
    for (unsigned i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        uint64_t now[2]; /* soft, hard; UINT64_MAX: none */
        if (syscall(SYS_prlimit64, 0, resources[i], NULL, now) == 0 && now[0] < least) {
            least = now[0];
        }
    }
    errno = saved;
    return least;
}

/* RLIMIT_NPROC counts all processes of the user; only a very small one is taken for near. */
static bool limits_are_near(unsigned threads)
{
    struct rlimit processes;
    int saved = errno;
    bool few = getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur < 4ul * threads;
    errno = saved;
    return few || port_memory_limit() != UINT64_MAX;
}

/* Without a limit it is 2 MiB there. */
static size_t kernel_stack_size(void)
{
    struct rlimit stack;
    int saved = errno;
    bool limited = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY;
    errno = saved;
    return limited ? stack.rlim_cur : 2ul << 20;
}

/* ---- the start ---- */

int port_start_enter(void)
{
    return errno;
}

void port_start_leave(int kept)
{
    start_is_over();
    errno = kept;
}

/* ---- is there room for the start? ---- */

#define ROOM_CPU (2ul << 20)   /* memory of each CPU beside the stack of its kernel thread */
#define ROOM_KEPT (40ul << 20) /* stacks that the C library keeps of threads that ended */
#define HELPERS 3u             /* monitor, maker of carriers, the first spare carrier */
#define HELPERS_FIRST 2u       /* of them those that are made first */

/* Between port_start_possible and port_start_goes_on. Meanwhile an allocation of the C library's,
 * in a kernel thread of the start, may take all that is left: it is for a whole arena of malloc. */
static struct {
    void *at;
    size_t size;
} room;

static bool room_take(size_t size)
{
    room.size = size;
    room.at = port_table_alloc(size);
    return room.at != NULL;
}

void port_start_goes_on(void)
{
    if (room.at != NULL) {
        port_table_free(room.at, room.size);
        room.at = NULL;
    }
}

/* The stacks of those kernel threads that are made after port_start_goes_on, but for stacks that
 * the C library keeps. */
static size_t room_for_stacks(unsigned want)
{
    size_t size = kernel_stack_size(), kept = ROOM_KEPT / (size + 4096);
    size_t there = kept > HELPERS_FIRST ? kept : HELPERS_FIRST;
    return want > there ? (want - there) * size : 0;
}

/* Tries it out, because nobody can tell from outside how much of a limit is left. That takes some
 * thread creations, so only where there are limits that a start may reach. */
bool port_start_possible(unsigned ncpu)
{
    unsigned want = ncpu - 1 + HELPERS;
    want = want < ROOM_THREADS ? want : ROOM_THREADS;
    if (!limits_are_near(want)) {
        return true;
    }
    bool possible = room_take((ncpu + 2) * ROOM_CPU) && room_for_threads(want);
    port_start_goes_on();
    return possible && room_take((ncpu + 1) * ROOM_CPU + room_for_stacks(want));
}

/* ---- errors in words ---- */

static size_t fitting(int n, size_t size)
{
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* The limits that are set. */
static size_t say_limits(char *text, size_t size)
{
    const char *before = "; limits: ";
    size_t n = 0;
    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit now;
        if (getrlimit(limits[i].resource, &now) != 0 || now.rlim_cur == RLIM_INFINITY) {
            continue;
        }
        n += fitting(snprintf(text + n, size - n, "%s%s: %llu %s", before, limits[i].name,
                              (unsigned long long)now.rlim_cur / limits[i].unit, limits[i].what),
                     size - n);
        before = ", ";
    }
    return n;
}

/* pthread_create has EAGAIN for memory, too. */
void port_error_text(int error, char *text, size_t size)
{
    size_t n = fitting(snprintf(text, size, "%s (error %d)", strerror(-error), -error), size);
    if (error == -EAGAIN || error == -ENOMEM) {
        n += say_limits(text + n, size - n);
        snprintf(text + n, size - n,
                 "; raise the limit that is reached, or use fewer CPUs (PIRN_CPUS)");
    }
}
