/* SPDX-License-Identifier: MIT */
/*
 * posix_syscall.c - the C library's function syscall, for the program. Calls that may block, that
 * close descriptors, or that would change the worker in place of the thread (CPU sets) are made as
 * by the function of the same name (posix_io.h), but are no cancellation points, as syscall is
 * none. All others are made by the C library's function.
 *
 * The library itself must not come here: the linker gives it __wrap_syscall instead.
 */
#include "posix_syscall.h"
#include "port_posix.h"
#include "posix_futex.h"
#include "posix_io.h"

#include <dlfcn.h>

typedef long (*syscall_fn)(long, ...);
static _Atomic(syscall_fn) libc_syscall;

static __attribute__((constructor)) void libc_find(void)
{
    at_store_rlx(&libc_syscall, (syscall_fn)dlsym(RTLD_NEXT, "syscall"));
}

/* For signals this is code of the C library, as the function that it stands for: handlers of the
 * program may run at its instruction, SIGPIPE's for instance. The port knows it by the section
 * (linux_preempt.c). */
__attribute__((section("pirn_syscall"))) NOINLINE long __wrap_syscall(long number, long a, long b,
                                                                      long c, long d, long e,
                                                                      long f)
{
    long result = port_arch_syscall(number, a, b, c, d, e, f);
    return result >= 0 || result < -4095 ? result : posix_fail((int)-result);
}

/* Before the constructor of this library, another library's may make calls. */
static long pass(long number, const long *a)
{
    syscall_fn next = at_load_rlx(&libc_syscall);
    return next != NULL ? next(number, a[0], a[1], a[2], a[3], a[4], a[5])
                        : syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define INT(i) ((int)a[i])
#define PTR(i) ((void *)a[i])
#define SIZE(i) ((size_t)a[i])
#define MADE(call)                                                                                 \
    {                                                                                              \
        struct io_past past = io_past_begin();                                                     \
        long result = (call);                                                                      \
        io_past_end(&past);                                                                        \
        return result;                                                                             \
    }

static long descriptors(long number, const long *a)
{
    switch (number) {
    case SYS_close:
        MADE(pirn_posix_close(INT(0)))
#ifdef SYS_dup2
    case SYS_dup2:
        MADE(pirn_posix_dup2(INT(0), INT(1)))
#endif
    case SYS_dup3:
        MADE(pirn_posix_dup3(INT(0), INT(1), INT(2)))
#ifdef SYS_close_range
    case SYS_close_range:
        MADE(pirn_posix_close_range((unsigned)a[0], (unsigned)a[1], INT(2)))
#endif
#ifdef SYS_poll
    case SYS_poll:
        MADE(pirn_posix_poll(PTR(0), (nfds_t)a[1], INT(2)))
#endif
#ifdef SYS_select
    case SYS_select:
        MADE(pirn_posix_select(INT(0), PTR(1), PTR(2), PTR(3), PTR(4)))
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
        MADE(pirn_posix_epoll_wait(INT(0), PTR(1), INT(2), INT(3)))
#endif
    case SYS_flock:
        MADE(pirn_posix_flock(INT(0), INT(1)))
    case SYS_fsync:
        MADE(pirn_posix_fsync(INT(0)))
    case SYS_fdatasync:
        MADE(pirn_posix_fdatasync(INT(0)))
    default:
        return pass(number, a);
    }
}

static long sockets(long number, const long *a)
{
    switch (number) {
    case SYS_recvfrom:
        MADE(pirn_posix_recvfrom(INT(0), PTR(1), SIZE(2), INT(3), PTR(4), PTR(5)))
    case SYS_recvmsg:
        MADE(pirn_posix_recvmsg(INT(0), PTR(1), INT(2)))
    case SYS_sendto:
        MADE(pirn_posix_sendto(INT(0), PTR(1), SIZE(2), INT(3), PTR(4), (socklen_t)a[5]))
    case SYS_sendmsg:
        MADE(pirn_posix_sendmsg(INT(0), PTR(1), INT(2)))
    case SYS_accept:
        MADE(pirn_posix_accept(INT(0), PTR(1), PTR(2)))
    case SYS_accept4:
        MADE(pirn_posix_accept4(INT(0), PTR(1), PTR(2), INT(3)))
    case SYS_connect:
        MADE(pirn_posix_connect(INT(0), PTR(1), (socklen_t)a[2]))
    default:
        return descriptors(number, a);
    }
}

/* A call that may block, without a function of ours. */
static long announced(long number, const long *a)
{
    return IO_CALL(IO_NO_POINT, number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long posix_syscall(long number, const long *a)
{
    switch (number) {
    case SYS_futex:
        return posix_futex(a);
    case SYS_pkey_alloc:
        return pirn_posix_pkey_alloc((unsigned)a[0], (unsigned)a[1]);
    case SYS_set_tid_address: /* the word is the kernel thread's, which ends later */
        return posix_is_foreign() ? pass(number, a) : pirn_posix_gettid();
    case SYS_sched_setaffinity: /* OpenMP of LLVM; the kernel would move the worker */
        return posix_call_setaffinity((pid_t)a[0], SIZE(1), PTR(2));
    case SYS_sched_getaffinity:
        return posix_call_getaffinity((pid_t)a[0], SIZE(1), PTR(2));
    case SYS_sched_yield:
        return pirn_posix_sched_yield();
    case SYS_read:
        MADE(pirn_posix_read(INT(0), PTR(1), SIZE(2)))
    case SYS_write:
        MADE(pirn_posix_write(INT(0), PTR(1), SIZE(2)))
    case SYS_readv:
        MADE(pirn_posix_readv(INT(0), PTR(1), INT(2)))
    case SYS_writev:
        MADE(pirn_posix_writev(INT(0), PTR(1), INT(2)))
    case SYS_wait4:
        MADE(pirn_posix_wait4((pid_t)a[0], PTR(1), INT(2), PTR(3)))
    case SYS_io_getevents:
        return IO_CALL_LIMITED(IO_NO_POINT, 5, NULL, number, a[0], a[1], a[2], a[3], a[4]);
    case SYS_semtimedop:
        MADE(pirn_posix_semtimedop(INT(0), PTR(1), SIZE(2), PTR(3)))
    case SYS_nanosleep:
        MADE(pirn_posix_nanosleep(PTR(0), PTR(1)))
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
#endif
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
    case SYS_msgrcv:
    case SYS_msgsnd:
        return announced(number, a);
    default:
        return sockets(number, a);
    }
}
