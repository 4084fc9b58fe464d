/* SPDX-License-Identifier: MIT */
/*
 * abi_glibc_io.c - exports the names of the calls that may block (io.def), for programs built with
 * glibc's headers. It also exports the names that the headers use for large files and for
 * _FORTIFY_SOURCE; the latter check the size of the buffer.
 *
 * The functions have C names of their own and the real names in the assembler: the headers declare
 * some of the real names with attributes or argument types that a definition cannot repeat.
 */
#include "../linux/posix_io.h"
#include "../linux/posix_syscall.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <resolv.h>
#include <stdarg.h>

#define NAMED(ret, c_name, name, params)                                                           \
    EXPORT ret c_name params __asm__(name);                                                        \
    ret c_name params
/* A cancellation point: acts on a request before the call, and after it if the request has ended
 * it. */
#define POINT(ret, call)                                                                           \
    posix_point();                                                                                 \
    ret result = (call);                                                                           \
    if (unlikely(result == (ret)-1) && errno == ECANCELED) {                                       \
        posix_point();                                                                             \
    }                                                                                              \
    return result
#define IO(ret, name, params, args)                                                                \
    NAMED(ret, abi_##name, #name, params)                                                          \
    {                                                                                              \
        POINT(ret, pirn_posix_##name args);                                                        \
    }
#define IO_OTHER(ret, name, params, args)                                                          \
    NAMED(ret, abi_##name, #name, params)                                                          \
    {                                                                                              \
        return pirn_posix_##name args;                                                             \
    }
#include "../linux/io.def"

#define ALSO(name, of) __asm__(".globl " #name "\n\t.set " #name ", " #of);
ALSO(__read, read)
ALSO(__write, write)
ALSO(__pread64, pread)
ALSO(pread64, pread)
ALSO(__pwrite64, pwrite)
ALSO(pwrite64, pwrite)
ALSO(preadv64, preadv)
ALSO(pwritev64, pwritev)
ALSO(preadv64v2, preadv2)
ALSO(pwritev64v2, pwritev2)
ALSO(sendfile64, sendfile)
ALSO(__send, send)
ALSO(__connect, connect)
ALSO(__poll, poll)
ALSO(__select, select)
ALSO(__close, close)
ALSO(__dup2, dup2)
ALSO(_IO_fclose, fclose)
ALSO(lockf64, lockf)
ALSO(aio_suspend64, aio_suspend)
ALSO(__wait, wait)
ALSO(__waitpid, waitpid)
ALSO(__sigsuspend, sigsuspend)

NAMED(void, abi_closefrom, "closefrom", (int first))
{
    pirn_posix_closefrom(first);
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

NAMED(int, abi_openat, "openat", (int at, const char *path, int flags, ...))
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    POINT(int, io_open(at, path, flags, mode));
}

NAMED(int, abi_open, "open", (const char *path, int flags, ...))
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    POINT(int, io_open(AT_FDCWD, path, flags, mode));
}

NAMED(int, abi_creat, "creat", (const char *path, mode_t mode))
{
    POINT(int, io_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode));
}

ALSO(open64, open)
ALSO(__open, open)
ALSO(__open64, open)
ALSO(openat64, openat)
ALSO(creat64, creat)

/* Only waiting for locks is ours; the C library does the rest. */
NAMED(int, abi_fcntl, "fcntl", (int fd, int command, ...))
{
    static _Atomic(void *) libc;
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (command == F_SETLKW || command == F_OFD_SETLKW) {
        POINT(int, io_fcntl_lock(fd, command, argument));
    }
    int (*next)(int, int, ...) = (int (*)(int, int, ...))at_load_rlx(&libc);
    if (next == NULL) {
        next = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
        at_store_rlx(&libc, (void *)next);
    }
    return next != NULL ? next(fd, command, argument)
                        : (int)syscall(SYS_fcntl, fd, command, argument);
}
ALSO(fcntl64, fcntl)
ALSO(__fcntl, fcntl)

#define RESOLVER(ret, none, name, params, args)                                                    \
    ret pirn_posix_##name params;                                                                  \
    NAMED(ret, abi_##name, #name, params)                                                          \
    {                                                                                              \
        return pirn_posix_##name args;                                                             \
    }
#include "../linux/resolver.def"

/* The arguments that a caller does not give are read all the same, as by the C library. */
NAMED(long, abi_syscall, "syscall", (long number, long a, long b, long c, long d, long e, long f))
{
    return posix_syscall(number, (const long[]){a, b, c, d, e, f});
}

/* _FORTIFY_SOURCE: `room` is the size of the buffer as the compiler knows it. */
NORETURN void __chk_fail(void);

#define CHECKED(ret, name, params, args, asked, room)                                              \
    NAMED(ret, abi_##name##_chk, "__" #name "_chk", params)                                        \
    {                                                                                              \
        if ((asked) > (room)) {                                                                    \
            __chk_fail();                                                                          \
        }                                                                                          \
        POINT(ret, pirn_posix_##name args);                                                        \
    }
CHECKED(ssize_t, read, (int fd, void *b, size_t n, size_t room), (fd, b, n), n, room)
CHECKED(ssize_t, pread, (int fd, void *b, size_t n, off_t at, size_t room), (fd, b, n, at), n, room)
CHECKED(ssize_t, recv, (int fd, void *b, size_t n, size_t room, int flags), (fd, b, n, flags), n,
        room)
CHECKED(ssize_t, recvfrom,
        (int fd, void *b, size_t n, size_t room, int flags, struct sockaddr *from, socklen_t *size),
        (fd, b, n, flags, from, size), n, room)
CHECKED(int, poll, (struct pollfd * p, nfds_t n, int ms, size_t room), (p, n, ms), n * sizeof(*p),
        room)
CHECKED(int, ppoll,
        (struct pollfd * p, nfds_t n, const struct timespec *limit, const sigset_t *mask,
         size_t room),
        (p, n, limit, mask), n * sizeof(*p), room)
ALSO(__pread64_chk, __pread_chk)

/* open without a mode, where none is needed. */
NAMED(int, abi_open_2, "__open_2", (const char *path, int flags))
{
    POINT(int, io_open(AT_FDCWD, path, flags, 0));
}
NAMED(int, abi_openat_2, "__openat_2", (int at, const char *path, int flags))
{
    POINT(int, io_open(at, path, flags, 0));
}
ALSO(__open64_2, __open_2)
ALSO(__openat64_2, __openat_2)
