/* SPDX-License-Identifier: MIT */
/*
 * semihost.c (MIPS) - calls of the machine that runs the program: from the environment's numbers
 * (semihost.h) to those of MIPS's specification, the Unified Hosting Interface. That has neither a
 * way to rename nor a calendar: a file gets its new name beside the old one, which then goes; and
 * the time is not known.
 */
#include "semihost.h"
#include "arch_bare.h"

enum uhi_operation {
    UHI_EXIT = 1,
    UHI_OPEN = 2,
    UHI_CLOSE = 3,
    UHI_READ = 4,
    UHI_WRITE = 5,
    UHI_SEEK = 6,
    UHI_UNLINK = 7,
    UHI_STAT = 8,
    UHI_COUNT = 9,   /* words of the command line */
    UHI_LENGTH = 10, /* of one of them */
    UHI_WORD = 11,
    UHI_LINK = 22,
};

enum { WRITES = 1, READS_WRITES = 2, APPENDS = 8, CREATES = 0x200, TRUNCATES = 0x400 };

struct uhi_stat {
    int16_t device;
    uint16_t number;
    uint32_t mode;
    uint16_t links, user, group;
    int16_t of_device;
    uint64_t size;
    uint64_t others[11];
};

static long error;

static long uhi(enum uhi_operation operation, unsigned long first, unsigned long second,
                unsigned long third)
{
    long number;
    long result = arch_uhi(operation, first, second, third, &number);
    if (result < 0) {
        __atomic_store_n(&error, number, __ATOMIC_RELAXED);
    }
    return result;
}

static long open_file(const struct semihost_open *open)
{
    static const uint16_t flags[] = {
        [SEMIHOST_READ_ONLY] = 0,
        [SEMIHOST_READ_WRITE] = READS_WRITES,
        [SEMIHOST_WRITE_NEW] = WRITES | CREATES | TRUNCATES,
        [SEMIHOST_READ_WRITE_NEW] = READS_WRITES | CREATES | TRUNCATES,
        [SEMIHOST_APPEND] = WRITES | CREATES | APPENDS,
    };
    return uhi(UHI_OPEN, (uintptr_t)open->path, flags[open->mode], 0644);
}

/* Bytes that are left. */
static long transfer(enum uhi_operation operation, const struct semihost_transfer *block)
{
    long n = uhi(operation, block->handle, (uintptr_t)block->memory, block->length);
    return n < 0 ? -1 : (long)block->length - n;
}

static long length(unsigned long handle)
{
    struct uhi_stat stat;
    return uhi(UHI_STAT, handle, (uintptr_t)&stat, 0) < 0 ? -1 : (long)stat.size;
}

static long rename_file(const struct semihost_name *names)
{
    uintptr_t from = (uintptr_t)names[0].path, to = (uintptr_t)names[1].path;
    if (uhi(UHI_LINK, from, to, 0) < 0) {
        uhi(UHI_UNLINK, to, 0, 0);
        if (uhi(UHI_LINK, from, to, 0) < 0) {
            return -1;
        }
    }
    return uhi(UHI_UNLINK, from, 0, 0);
}

static long command_line(const struct semihost_line *line)
{
    long n = uhi(UHI_COUNT, 0, 0, 0);
    size_t used = 0;
    for (long i = 0; i < n; i++) {
        long size = uhi(UHI_LENGTH, (unsigned long)i, 0, 0);
        if (size < 0 || used + (size_t)size + 1 > line->size) {
            return -1;
        }
        uhi(UHI_WORD, (unsigned long)i, (uintptr_t)line->text + used, 0);
        used += (size_t)size;
        line->text[used++] = ' ';
    }
    if (used == 0) {
        return -1;
    }
    line->text[used - 1] = '\0';
    return 0;
}

long arch_semihost(unsigned long operation, const void *arguments)
{
    const unsigned long *words = arguments;
    switch ((enum semihost_operation)operation) {
    case SEMIHOST_OPEN:
        return open_file(arguments);
    case SEMIHOST_CLOSE:
        return uhi(UHI_CLOSE, words[0], 0, 0);
    case SEMIHOST_WRITE:
        return transfer(UHI_WRITE, arguments);
    case SEMIHOST_READ:
        return transfer(UHI_READ, arguments);
    case SEMIHOST_SEEK:
        return uhi(UHI_SEEK, words[0], words[1], 0);
    case SEMIHOST_LENGTH:
        return length(words[0]);
    case SEMIHOST_REMOVE:
        return uhi(UHI_UNLINK, words[0], 0, 0);
    case SEMIHOST_RENAME:
        return rename_file(arguments);
    case SEMIHOST_ERRNO:
        return __atomic_load_n(&error, __ATOMIC_RELAXED);
    case SEMIHOST_LINE:
        return command_line(arguments);
    case SEMIHOST_EXIT:
        return uhi(UHI_EXIT, ((const struct semihost_exit *)arguments)->status, 0, 0);
    case SEMIHOST_TIME:
        break;
    }
    return -1;
}
