/* SPDX-License-Identifier: MIT */
/*
 * linux_cache.c (Linux) - the size of the shared cache, which the kernel tells in
 * /sys/devices/system/cpu/cpu0/cache/indexN: of the highest level that has data.
 */
#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port_cache.h"

#define FOLDER "/sys/devices/system/cpu/cpu0/cache"
#define INDEXES 8u

/* The first bytes of a file, as a string; empty if there is none. */
static void file_read(const char *folder, unsigned index, const char *name, char text[16])
{
    char path[256];
    int n = snprintf(path, sizeof(path), "%s/index%u/%s", folder, index, name);
    long fd =
        n < (int)sizeof(path) ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    long got = fd >= 0 ? syscall(SYS_read, (int)fd, text, 15) : 0;
    if (fd >= 0) {
        syscall(SYS_close, (int)fd);
    }
    text[got > 0 ? got : 0] = '\0';
}

/* "32768K" and so on, in bytes; 0: it is something else. */
static uint64_t size_of(const char *text)
{
    uint64_t size = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        size = size * 10 + (uint64_t)(*p - '0');
    }
    unsigned shift = *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
    return p != text ? size << shift : 0;
}

uint64_t cache_size_read(const char *folder)
{
    char level[16], type[16], size[16];
    unsigned highest = 1;
    uint64_t bytes = 0;
    int saved = errno;
    for (unsigned index = 0; index < INDEXES; index++) {
        file_read(folder, index, "level", level);
        file_read(folder, index, "type", type);
        file_read(folder, index, "size", size);
        unsigned here = level[0] >= '1' && level[0] <= '9' ? (unsigned)(level[0] - '0') : 0;
        if (here > highest && strncmp(type, "Instruction", 11) != 0) {
            highest = here;
            bytes = size_of(size);
        }
    }
    errno = saved;
    return bytes;
}

uint64_t port_cache_size(void)
{
    return cache_size_read(FOLDER);
}
