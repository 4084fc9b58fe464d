/* SPDX-License-Identifier: MIT */
/*
 * trace.c (Linux) - the file of the event trace, mapped, and its clock.
 *
 * The clock is the processor's counter where that runs at one rate on all CPUs and in all their
 * states (x86: invariant TSC), else the monotonic clock. The rate need not be known: the trace has
 * both clocks at the beginning of every block.
 *
 * The file's descriptor stays open, and locked, as long as the process lives: two processes never
 * write into one file. Its blocks are allocated first: a full disk is an error at the start, not a
 * SIGBUS in the middle.
 */
#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define FD_FLOOR 1000

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool port_trace_counter;

static bool counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8) != 0;
#else
    return false;
#endif
}

/* With %p replaced by the process id, %% by %. -ENAMETOOLONG, -EINVAL: another %. */
static int name_expand(const char *from, char *to, size_t size)
{
    size_t n = 0;
    for (; *from != '\0' && n < size; from++) {
        if (*from != '%') {
            to[n++] = *from;
        } else if (from[1] == '%') {
            to[n++] = *from++;
        } else if (from[1] == 'p') {
            n += (size_t)snprintf(to + n, size - n, "%d", (int)syscall(SYS_getpid));
            from++;
        } else {
            return -EINVAL;
        }
    }
    if (n >= size) {
        return -ENAMETOOLONG;
    }
    to[n] = '\0';
    return 0;
}

/* Out of the program's way. */
static int fd_up(int fd)
{
    int up = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR);
    if (up < 0) {
        return fd;
    }
    syscall(SYS_close, fd);
    return up;
}

static int file_open(const char *name)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return -errno;
    }
    struct stat st;
    int error = 0;
    fd = fd_up(fd);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        error = -EINVAL;
    } else if (syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0) {
        error = errno == EWOULDBLOCK ? -EBUSY : -errno;
    }
    if (error != 0) {
        syscall(SYS_close, fd);
        return error;
    }
    return fd;
}

static int file_size(int fd, size_t size)
{
    if (syscall(SYS_ftruncate, fd, 0L) != 0 || syscall(SYS_ftruncate, fd, (long)size) != 0) {
        return -errno;
    }
    if (syscall(SYS_fallocate, fd, 0, 0L, (long)size) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS) {
        int error = -errno;
        syscall(SYS_ftruncate, fd, 0L);
        return error;
    }
    return 0;
}

int port_trace_open(const char *path, size_t size, void **at)
{
    char name[1024];
    int error = name_expand(path, name, sizeof(name));
    int fd = error == 0 ? file_open(name) : error;
    if (fd < 0) {
        return fd;
    }
    error = file_size(fd, size);
    void *map = error == 0 ? (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                                             MAP_SHARED, fd, 0L)
                           : MAP_FAILED;
    if (map == MAP_FAILED) {
        error = error != 0 ? error : -errno;
        syscall(SYS_close, fd);
        return error;
    }
    /* A page that is there costs no fault in the middle of what is measured. */
    syscall(SYS_madvise, map, size, MADV_POPULATE_WRITE);
    *at = map;
    return 0;
}

void port_trace_drop(void *at, size_t size)
{
    syscall(SYS_munmap, at, size);
}

void port_trace_facts(struct port_trace_facts *facts)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    port_trace_counter = counter_is_steady();
    *facts = (struct port_trace_facts){.program = program_invocation_name,
                                       .pid = (uint64_t)syscall(SYS_getpid),
                                       .unix_ns = (uint64_t)now.tv_sec * 1000000000u +
                                                  (uint64_t)now.tv_nsec,
                                       .clock_hz = port_trace_counter ? 0 : 1000000000u};
}
