/* SPDX-License-Identifier: MIT */
/*
 * bare_files.c (bare) - what the C library asks of a system: descriptors. 0, 1 and 2 are the
 * board's console, the others files of the machine that runs the program (semihosting). A
 * descriptor's position is its own; two threads that use one at the same time need a lock, which
 * streams have.
 */
#include "bare.h"
#include "semihost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define FIRST 3
#define FILES 32

static struct file {
    bool used, append;
    long handle;
    off_t position;
} files[FILES];
static uint32_t lock;

static struct file *file_of(int fd)
{
    if (fd < FIRST || fd >= FIRST + FILES || !files[fd - FIRST].used) {
        errno = EBADF;
        return NULL;
    }
    return &files[fd - FIRST];
}

static long host(enum semihost_operation operation, const void *arguments)
{
    return arch_semihost(operation, arguments);
}

/* The error of the last operation, as the machine knows it. */
static int host_fails(int otherwise)
{
    long error = host(SEMIHOST_ERRNO, NULL);
    errno = error > 0 ? (int)error : otherwise;
    return -1;
}

static struct file *file_new(void)
{
    struct file *file = NULL;
    unsigned long irq = bare_lock(&lock);
    for (unsigned i = 0; i < FILES && file == NULL; i++) {
        if (!files[i].used) {
            file = &files[i];
            *file = (struct file){.used = true};
        }
    }
    bare_unlock(&lock, irq);
    return file;
}

static bool exists(const char *path)
{
    struct semihost_open open = {path, SEMIHOST_READ_ONLY, strlen(path)};
    long handle = host(SEMIHOST_OPEN, &open);
    if (handle >= 0) {
        host(SEMIHOST_CLOSE, &handle);
    }
    return handle >= 0;
}

static enum semihost_mode mode_of(const char *path, int flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY) {
        return SEMIHOST_READ_ONLY;
    }
    bool fresh = (flags & O_TRUNC) || ((flags & O_CREAT) && !exists(path));
    bool reads = (flags & O_ACCMODE) == O_RDWR;
    return fresh ? (reads ? SEMIHOST_READ_WRITE_NEW : SEMIHOST_WRITE_NEW) : SEMIHOST_READ_WRITE;
}

int open(const char *path, int flags, ...)
{
    if ((flags & O_CREAT) && (flags & O_EXCL) && exists(path)) {
        errno = EEXIST;
        return -1;
    }
    if ((flags & O_TRUNC) && !(flags & O_CREAT) && !exists(path)) {
        errno = ENOENT;
        return -1;
    }
    struct file *file = file_new();
    if (file == NULL) {
        errno = EMFILE;
        return -1;
    }
    struct semihost_open open = {path, mode_of(path, flags), strlen(path)};
    file->handle = host(SEMIHOST_OPEN, &open);
    file->append = (flags & O_APPEND) != 0;
    if (file->handle < 0) {
        file->used = false;
        return host_fails(ENOENT);
    }
    return (int)(file - files) + FIRST;
}

int close(int fd)
{
    if (fd >= 0 && fd < FIRST) {
        return 0;
    }
    struct file *file = file_of(fd);
    if (file == NULL) {
        return -1;
    }
    long error = host(SEMIHOST_CLOSE, &file->handle);
    file->used = false;
    return error == 0 ? 0 : host_fails(EIO);
}

static off_t length_of(const struct file *file)
{
    return (off_t)host(SEMIHOST_LENGTH, &file->handle);
}

static bool seek(struct file *file, off_t to)
{
    unsigned long block[2] = {(unsigned long)file->handle, (unsigned long)to};
    file->position = to;
    return host(SEMIHOST_SEEK, block) >= 0;
}

off_t lseek(int fd, off_t offset, int whence)
{
    struct file *file = file_of(fd);
    if (file == NULL) {
        errno = fd >= 0 && fd < FIRST ? ESPIPE : EBADF;
        return -1;
    }
    off_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->position : length_of(file);
    if ((whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) || from + offset < 0) {
        errno = EINVAL;
        return -1;
    }
    return seek(file, from + offset) ? file->position : host_fails(EINVAL);
}

static ssize_t transfer(struct file *file, enum semihost_operation operation, void *memory,
                        size_t length)
{
    struct semihost_transfer block = {(unsigned long)file->handle, memory, length};
    long left = host(operation, &block);
    if (left < 0 || (size_t)left > length) {
        return host_fails(EIO);
    }
    file->position += (off_t)(length - (size_t)left);
    return (ssize_t)(length - (size_t)left);
}

ssize_t read(int fd, void *memory, size_t length)
{
    if (fd >= 0 && fd < FIRST) {
        return console_read(memory, length);
    }
    struct file *file = file_of(fd);
    return file == NULL || length == 0 ? (file == NULL ? -1 : 0)
                                       : transfer(file, SEMIHOST_READ, memory, length);
}

ssize_t write(int fd, const void *memory, size_t length)
{
    if (fd >= 0 && fd < FIRST) {
        port_write(memory, length);
        return (ssize_t)length;
    }
    struct file *file = file_of(fd);
    if (file == NULL || length == 0) {
        return file == NULL ? -1 : 0;
    }
    if (file->append && !seek(file, length_of(file))) {
        return host_fails(EIO);
    }
    ssize_t n = transfer(file, SEMIHOST_WRITE, (void *)(uintptr_t)memory, length);
    if (n == 0) {
        errno = ENOSPC;
        return -1;
    }
    return n;
}

int fstat(int fd, struct stat *out)
{
    struct file *file = fd >= FIRST ? file_of(fd) : NULL;
    if (fd < 0 || (fd >= FIRST && file == NULL)) {
        errno = EBADF;
        return -1;
    }
    *out = (struct stat){.st_mode = file != NULL ? S_IFREG | 0644 : S_IFCHR | 0666,
                         .st_nlink = 1,
                         .st_blksize = 1024,
                         .st_size = file != NULL ? length_of(file) : 0};
    return 0;
}

int stat(const char *path, struct stat *out)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        return -1;
    }
    int error = fstat(fd, out);
    close(fd);
    return error;
}

int isatty(int fd)
{
    if (fd >= 0 && fd < FIRST) {
        return 1;
    }
    errno = file_of(fd) == NULL ? EBADF : ENOTTY;
    return 0;
}

static int outcome(long error, int otherwise)
{
    return error == 0 ? 0 : host_fails(otherwise);
}

int unlink(const char *path)
{
    struct semihost_name name = {path, strlen(path)};
    return outcome(host(SEMIHOST_REMOVE, &name), ENOENT);
}

int rename(const char *from, const char *to)
{
    struct semihost_name names[2] = {{from, strlen(from)}, {to, strlen(to)}};
    return outcome(host(SEMIHOST_RENAME, names), ENOENT);
}

int getpid(void)
{
    return 1;
}

/* Seconds of the machine's calendar at the start, if it has one, and the clock since. */
int gettimeofday(struct timeval *now, void *zone)
{
    static long began;
    (void)zone;
    uint64_t ns = port_now();
    if (__atomic_load_n(&began, __ATOMIC_RELAXED) == 0) {
        long seconds = host(SEMIHOST_TIME, NULL) - (long)(ns / 1000000000u);
        STORE_RLX(&began, seconds > 0 ? seconds : 1);
    }
    now->tv_sec = (time_t)(ns / 1000000000u) + __atomic_load_n(&began, __ATOMIC_RELAXED);
    now->tv_usec = (suseconds_t)(ns / 1000u % 1000000u);
    return 0;
}

clock_t times(struct tms *t)
{
    clock_t now = (clock_t)(port_now() / (1000000000u / CLOCKS_PER_SEC));
    *t = (struct tms){.tms_utime = now};
    return now;
}
