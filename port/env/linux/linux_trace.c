/* SPDX-License-Identifier: MIT */
/*
 * linux_trace.c (Linux) - the file of the event trace, mapped, and its clock.
 *
 * The clock is the processor's counter where that runs at one rate on all CPUs and in all their
 * states (x86: invariant TSC; AArch64: CNTVCT), else the monotonic clock. The rate need not be
 * known: the trace has both clocks at the beginning of every block.
 *
 * The file's descriptor stays open, and locked, as long as the process lives: two processes never
 * write into one file. Its blocks are allocated first (linux_files.c, F5): a full disk is an error
 * at the start, not a SIGBUS in the middle.
 */
#include "linux.h"
#include "port_files.h"
#include "port_trace.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool port_trace_counter;

#if defined(__x86_64__)
static bool counter_is_steady(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8) != 0;
}
#elif defined(__aarch64__)
/* As the architecture requires of the system counter. */
static bool counter_is_steady(void)
{
    return true;
}
#else
static bool counter_is_steady(void)
{
    return false;
}
#endif

/* The pages are made now, so they cause no faults during the measurement. EFAULT: later they would
 * cause a SIGBUS, on a file system that allocates another block for each write. 0 or -errno. */
static int file_map(int fd, size_t size, void **at)
{
    void *map = (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    if (map == MAP_FAILED) {
        return -errno;
    }
    if (syscall(SYS_madvise, map, size, MADV_POPULATE_WRITE) != 0 && errno == EFAULT) {
        syscall(SYS_munmap, map, size);
        return -ENOSPC;
    }
    *at = map;
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
    RT_ASSERT(size != 0);
    error = file_fill(fd, size);
    error = error == 0 ? file_map(fd, size, at) : error;
    if (error != 0) {
        syscall(SYS_ftruncate, fd, 0L);
        syscall(SYS_close, fd);
    }
    return error;
}

void port_trace_drop(void *at, size_t size)
{
    RT_ASSERT((uintptr_t)at % PAGE_SIZE == 0 && at != NULL); /* as port_trace_open gave it */
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

uint64_t port_trace_used(void)
{
    struct timespec t = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
