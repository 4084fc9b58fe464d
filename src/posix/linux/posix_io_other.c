/* SPDX-License-Identifier: MIT */
/*
 * posix_io_other.c - calls that wait for processes, locks, messages and signals, and calls that
 * open files. The thread gives its CPU away at once if the call is known to block, else when it
 * turns out to block.
 */
#include "posix_io.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

/* A child that has ended already needs no wait. */
pid_t pirn_posix_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    if ((options & WNOHANG) == 0 && !io_is_plain()) {
        long done = syscall(SYS_wait4, pid, status, options | WNOHANG, usage);
        if (done != 0) {
            return (pid_t)done;
        }
    }
    return (pid_t)IO_CALL((options & WNOHANG) == 0, SYS_wait4, pid, status, options, usage);
}

pid_t pirn_posix_waitpid(pid_t pid, int *status, int options)
{
    return pirn_posix_wait4(pid, status, options, NULL);
}

pid_t pirn_posix_wait(int *status)
{
    return pirn_posix_wait4(-1, status, 0, NULL);
}

pid_t pirn_posix_wait3(int *status, int options, struct rusage *usage)
{
    return pirn_posix_wait4(-1, status, options, usage);
}

int pirn_posix_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    return (int)IO_CALL((options & WNOHANG) == 0, SYS_waitid, type, id, info, options, NULL);
}

int pirn_posix_flock(int fd, int operation)
{
    if ((operation & LOCK_NB) == 0 && !io_is_plain()) {
        long done = syscall(SYS_flock, fd, operation | LOCK_NB);
        if (done == 0 || errno != EWOULDBLOCK) {
            return (int)done;
        }
    }
    return (int)IO_CALL(IO_NO_POINT | ((operation & LOCK_NB) == 0), SYS_flock, fd, operation);
}

int io_fcntl_lock(int fd, int command, void *lock)
{
    int try = command == F_SETLKW ? F_SETLK : F_OFD_SETLK;
    if (!io_is_plain()) {
        long done = syscall(SYS_fcntl, fd, try, lock);
        if (done == 0 || (errno != EAGAIN && errno != EACCES)) {
            return (int)done;
        }
    }
    return (int)IO_CALL(IO_BLOCKS, SYS_fcntl, fd, command, lock);
}

int io_open(int at, const char *path, int flags, mode_t mode)
{
    int fd = (int)IO_CALL(IO_MAY_BLOCK, SYS_openat, at, path, flags, mode);
    rt_io_opened(fd);
    return fd;
}

ssize_t pirn_posix_msgrcv(int queue, void *message, size_t size, long type, int flags)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_msgrcv, queue, message, size, type, flags);
}

int pirn_posix_msgsnd(int queue, const void *message, size_t size, int flags)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_msgsnd, queue, message, size, flags);
}

int pirn_posix_semtimedop(int id, struct sembuf *operations, size_t n, const struct timespec *limit)
{
    return (int)IO_CALL_LIMITED(IO_NO_POINT, 4, NULL, SYS_semtimedop, id, operations, n, limit);
}

int pirn_posix_semop(int id, struct sembuf *operations, size_t n)
{
    return pirn_posix_semtimedop(id, operations, n, NULL);
}
