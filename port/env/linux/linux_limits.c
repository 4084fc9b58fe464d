/* SPDX-License-Identifier: MIT */
/*
 * linux_limits.c - limits of this process: that of its memory; errors in words, with the limits that
 * may be the reason. The latter is called where the runtime cannot go on.
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
