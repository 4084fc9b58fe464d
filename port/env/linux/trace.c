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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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
    int error = port_name_expand(path, name, sizeof(name));
    int fd = error == 0 ? port_file_claim(name) : error;
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

void trace_clock_init(void)
{
    port_trace_counter = counter_is_steady();
}

uint64_t port_trace_clock_hz(void)
{
    return port_trace_counter ? 0 : 1000000000u;
}
