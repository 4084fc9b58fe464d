/* SPDX-License-Identifier: MIT */
/*
 * posix_closing.c - calls that close descriptors, or give their numbers to other files. They are
 * announced to the threads that wait for these files (core/io.h).
 *
 * A program cannot close the runtime's own descriptors. Closing one is EBADF, giving its number to
 * another file is EBUSY, and ranges leave them out.
 *
 * A child of vfork shares the memory and calls these functions, too. It closes its own descriptors,
 * not ours.
 */
#include "port_numbers.h"
#include "posix_io.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

/* After the call the descriptor is closed, whatever the result is, so a request does not end it. */
int pirn_posix_close(int fd)
{
    struct rt_io_close c;
    if (!rt_io_close_begin(&c, fd)) {
        return posix_fail(EBADF);
    }
    int result = (int)syscall(SYS_close, fd), error = errno;
    rt_io_close_end(&c);
    return result == 0 ? 0 : posix_fail(error);
}

static int move(long number, int from, int to, int flags)
{
    struct rt_io_close c;
    if (!rt_io_close_begin(&c, to)) {
        return posix_fail(EBUSY);
    }
    int result = (int)syscall(number, from, to, flags), error = errno;
    rt_io_close_end(&c);
    return result >= 0 ? result : posix_fail(error);
}

int pirn_posix_dup3(int from, int to, int flags)
{
    return from != to ? move(SYS_dup3, from, to, flags) : posix_fail(EINVAL);
}

/* With two equal numbers this is only a check. */
int pirn_posix_dup2(int from, int to)
{
    if (from == to) {
        return syscall(SYS_fcntl, from, F_GETFD) >= 0 ? to : -1;
    }
    return move(SYS_dup3, from, to, 0);
}

static int range_close(unsigned first, unsigned last, int flags)
{
    struct rt_io_range r;
    rt_io_range_begin(&r, first, last);
    int result = (int)syscall(SYS_close_range, first, last, flags), error = errno;
    rt_io_range_end(&r);
    return result == 0 ? 0 : posix_fail(error);
}

/* Closes the ranges between the runtime's descriptors. */
static int ranges_close(unsigned first, unsigned last, int flags)
{
    for (;;) {
        unsigned own = rt_io_own_from(first);
        unsigned end = own <= last && own != UINT_MAX ? own : last;
        if (end != own) {
            return range_close(first, end, flags);
        }
        if (own > first && range_close(first, own - 1, flags) != 0) {
            return -1;
        }
        if (own == last) {
            return 0;
        }
        first = own + 1;
    }
}

int pirn_posix_close_range(unsigned first, unsigned last, int flags)
{
    if (first > last || ((unsigned)flags & (CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) != 0) {
        return (int)syscall(SYS_close_range, first, last, flags);
    }
    return ranges_close(first, last, flags);
}

/* Linux before 5.9 has no call for it. */
void pirn_posix_closefrom(int first)
{
    unsigned from = first > 0 ? (unsigned)first : 0;
    if (ranges_close(from, UINT_MAX, 0) != 0 && errno == ENOSYS) {
        long most = sysconf(_SC_OPEN_MAX);
        for (long fd = from; fd < most; fd++) {
            pirn_posix_close((int)fd);
        }
    }
}

/* ---- streams: the C library's functions, which close descriptors themselves ---- */

static void *next_of(_Atomic(void *) *known, const char *name)
{
    void *fn = at_load_rlx(known);
    if (fn == NULL) {
        fn = dlsym(RTLD_NEXT, name);
        at_store_rlx(known, fn);
    }
    return fn;
}

typedef int (*close_fn)(FILE *);

static int stream_close(close_fn next, FILE *file)
{
    struct rt_io_close c;
    int saved = errno, fd = fileno_unlocked(file);
    errno = saved;
    if (fd < 0 || !rt_io_close_begin(&c, fd)) {
        return next(file);
    }
    int result = next(file), error = errno;
    rt_io_close_end(&c);
    errno = error;
    return result;
}

int pirn_posix_fclose(FILE *file)
{
    static _Atomic(void *) libc;
    return stream_close((close_fn)next_of(&libc, "fclose"), file);
}

int pirn_posix_pclose(FILE *file)
{
    static _Atomic(void *) libc;
    return stream_close((close_fn)next_of(&libc, "pclose"), file);
}

typedef FILE *(*reopen_fn)(const char *, const char *, FILE *);

static FILE *stream_reopen(reopen_fn next, const char *path, const char *mode, FILE *file)
{
    struct rt_io_close c;
    int fd = fileno_unlocked(file);
    if (fd < 0 || !rt_io_close_begin(&c, fd)) {
        return next(path, mode, file);
    }
    FILE *result = next(path, mode, file);
    int error = errno;
    rt_io_close_end(&c);
    errno = error;
    return result;
}

FILE *pirn_posix_freopen(const char *path, const char *mode, FILE *file)
{
    static _Atomic(void *) libc;
    return stream_reopen((reopen_fn)next_of(&libc, "freopen"), path, mode, file);
}

FILE *pirn_posix_freopen64(const char *path, const char *mode, FILE *file)
{
    static _Atomic(void *) libc;
    return stream_reopen((reopen_fn)next_of(&libc, "freopen64"), path, mode, file);
}
