/* SPDX-License-Identifier: MIT */
/*
 * linux_files.c (Linux) - the files that the runtime writes (traces, profiles, counters, loads),
 * and those that it reads. The user may name a wrong file, and other users may write to its folder
 * (/tmp).
 *
 * F1. If the last component of a name exists, it must be an ordinary file. This is checked before
 *     it is opened, because opening a FIFO waits and opening a device acts; and again when it is
 *     open. O_NOFOLLOW and O_NONBLOCK are for names that change in between.
 * F2. Nothing is truncated or written before F1 is known.
 * F3. Only its owner may access a new file (0600), because it contains addresses. An older one
 *     keeps its mode.
 * F4. A file above the limit of the process (RLIMIT_FSIZE) is refused: the kernel would end the
 *     process with SIGXFSZ.
 * F5. A mapped file has all its blocks: a full disk is an error when it is made, and no SIGBUS
 *     later. Where fallocate is not known, zeroes are written.
 */
#include "linux.h"
#include "port_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* F1. 0 or -errno. */
static int kind_check(mode_t mode)
{
    return S_ISREG(mode) ? 0 : S_ISLNK(mode) ? -ELOOP : S_ISDIR(mode) ? -EISDIR : -ENODEV;
}

/* A descriptor, or -errno. `access`: O_WRONLY or O_RDWR. */
static int output_open(const char *path, int access)
{
    struct stat st;
    int error = 0;
    RT_ASSERT(access == O_WRONLY || access == O_RDWR); /* O_CREAT goes with no other */
    if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        error = kind_check(st.st_mode);
    }
    if (error != 0) {
        return error;
    }
    int flags = access | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (fd < 0) {
        return -errno;
    }
    fd = fd_move_up(fd);
    error = fstat(fd, &st) == 0 ? kind_check(st.st_mode) : -errno;
    if (error != 0) {
        syscall(SYS_close, fd);
        return error;
    }
    return fd;
}

/* F4. */
static bool size_is_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

int port_file_claim(const char *name)
{
    int fd = output_open(name, O_RDWR);
    if (fd >= 0 && syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno == EWOULDBLOCK ? -EBUSY : -errno;
        syscall(SYS_close, fd);
        return error;
    }
    return fd;
}

int port_name_expand(const char *from, char *to, size_t size)
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

/* From the file's present offset. 0 or -errno. */
static int write_all(int fd, const char *text, size_t length)
{
    while (length != 0) {
        ssize_t n = syscall(SYS_write, fd, text, length);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return n < 0 ? -errno : -EIO;
        }
        RT_ASSERT(n < 0 || (size_t)n <= length);
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Half a file would be taken for a whole one: nothing of it stays. */
int port_file_write(const char *path, const char *text, size_t length)
{
    if (!size_is_allowed(length)) {
        return -EFBIG;
    }
    int fd = output_open(path, O_WRONLY);
    if (fd < 0) {
        return fd;
    }
    int error = syscall(SYS_ftruncate, fd, 0L) == 0 ? write_all(fd, text, length) : -errno;
    if (error != 0) {
        syscall(SYS_ftruncate, fd, 0L);
    }
    return syscall(SYS_close, fd) == 0 || error != 0 ? error : -errno;
}

/* Some file systems find room only when they write to the disk, or the server. */
static int zeroes_write(int fd, size_t size)
{
    static const char zeroes[16384];
    int error = 0;
    for (size_t n; size != 0 && error == 0; size -= n) {
        n = size < sizeof(zeroes) ? size : sizeof(zeroes);
        error = write_all(fd, zeroes, n);
    }
    return error != 0 ? error : syscall(SYS_fdatasync, fd) == 0 ? 0 : -errno;
}

static int blocks_allocate(int fd, size_t size)
{
    long done;
    do {
        done = syscall(SYS_fallocate, fd, 0, 0L, (long)size);
    } while (done != 0 && errno == EINTR);
    if (done == 0) {
        return 0;
    }
    bool known = errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM;
    return known ? -errno : zeroes_write(fd, size);
}

/* F5. */
int file_fill(int fd, size_t size)
{
    RT_ASSERT(fd >= 0 && size != 0);
    if (!size_is_allowed(size)) {
        return -EFBIG;
    }
    return syscall(SYS_ftruncate, fd, 0L) == 0 ? blocks_allocate(fd, size) : -errno;
}

char *port_file_read(const char *path, size_t max, size_t *size)
{
    FILE *f = fopen(path, "re");
    char *text = f != NULL ? port_table_alloc(*size = max + 1) : NULL;
    size_t n = text != NULL ? fread(text, 1, max, f) : 0;
    bool whole = text != NULL && ferror(f) == 0 && feof(f);
    if (f != NULL) {
        fclose(f);
    }
    if (!whole) {
        if (text != NULL) {
            port_table_free(text, *size);
        }
        return NULL;
    }
    text[n] = '\0';
    return text;
}
