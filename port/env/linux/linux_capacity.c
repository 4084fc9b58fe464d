/* SPDX-License-Identifier: MIT */
/*
 * linux_capacity.c (Linux) - the capacities of processors, which the kernel tells in
 * /sys/devices/system/cpu/cpuN/cpu_capacity where it knows them: on ARM, AArch64 and RISC-V from
 * the device tree, on x86-64 for hybrid processors.
 *
 * A worker has the capacity of its processor if it is bound to one (option bind). Else the kernel
 * moves it, and chooses its processor by its load: then all workers are alike.
 */
#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port_capacity.h"

#define FOLDER "/sys/devices/system/cpu"

unsigned capacity_read(const char *folder, unsigned processor)
{
    char path[256];
    char text[16];
    unsigned capacity = 0;
    int saved = errno;
    int n = snprintf(path, sizeof(path), "%s/cpu%u/cpu_capacity", folder, processor);
    long fd =
        n < (int)sizeof(path) ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    long got = fd >= 0 ? syscall(SYS_read, (int)fd, text, sizeof(text)) : 0;
    if (fd >= 0) {
        syscall(SYS_close, (int)fd);
    }
    long i = 0;
    for (; i < got && text[i] >= '0' && text[i] <= '9' && i < 5; i++) {
        capacity = capacity * 10 + (unsigned)(text[i] - '0');
    }
    errno = saved;
    bool whole = i > 0 && (i == got || text[i] == '\n');
    return whole && capacity >= 1 && capacity <= PORT_CAPACITY_MAX ? capacity : PORT_CAPACITY_MAX;
}

unsigned port_cpu_capacity(unsigned i)
{
    int processor = affinity_processor(i);
    return processor >= 0 ? capacity_read(FOLDER, (unsigned)processor) : PORT_CAPACITY_MAX;
}
