/* SPDX-License-Identifier: MIT */
/*
 * posix_io_more.c - further calls that may wait: terminals, file locks, message queues,
 * asynchronous input and output.
 */
#include "../signals/posix_signal.h"
#include "posix_io.h"

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ioctl.h>

int pirn_posix_tcdrain(int fd)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_ioctl, fd, TCSBRK, 1);
}

int pirn_posix_lockf(int fd, int operation, off_t size)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = size};
    switch (operation) {
    case F_LOCK:
        return io_fcntl_lock(fd, F_SETLKW, &lock);
    case F_TLOCK:
        return (int)syscall(SYS_fcntl, fd, F_SETLK, &lock);
    case F_ULOCK:
        lock.l_type = F_UNLCK;
        return (int)syscall(SYS_fcntl, fd, F_SETLK, &lock);
    case F_TEST:
        if (syscall(SYS_fcntl, fd, F_GETLK, &lock) != 0) {
            return -1;
        }
        return lock.l_type == F_UNLCK || lock.l_pid == getpid() ? 0 : posix_fail(EACCES);
    default:
        return posix_fail(EINVAL);
    }
}

ssize_t pirn_posix_mq_timedreceive(mqd_t queue, char *message, size_t size, unsigned *priority,
                                   const struct timespec *limit)
{
    return IO_CALL(IO_MAY_BLOCK, SYS_mq_timedreceive, queue, message, size, priority, limit);
}

ssize_t pirn_posix_mq_receive(mqd_t queue, char *message, size_t size, unsigned *priority)
{
    return pirn_posix_mq_timedreceive(queue, message, size, priority, NULL);
}

/* The process may have asked for a signal when a message arrives (mq_notify). The kernel then has
 * the signal now. A caller that can take it does so before the function returns, as after kill. */
int pirn_posix_mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority,
                            const struct timespec *limit)
{
    int sent = (int)IO_CALL(IO_MAY_BLOCK, SYS_mq_timedsend, queue, message, size, priority, limit);
    if (sent == 0 && !io_is_plain() && posix_signals_mine()) {
        posix_signals_fetch();
        posix_signals_take();
    }
    return sent;
}

int pirn_posix_mq_send(mqd_t queue, const char *message, size_t size, unsigned priority)
{
    return pirn_posix_mq_timedsend(queue, message, size, priority, NULL);
}

#define AIO_LOOK_NS 50000u
#define AIO_LOOK_MAX_NS 2000000u

static bool aio_has_ended(const struct aiocb *const *list, int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i] != NULL && aio_error(list[i]) != EINPROGRESS) {
            return true;
        }
    }
    return false;
}

/* Threads of the C library do the work. It reports the end only by signals and by this call, which
 * waits in the kernel. So the thread polls. */
int pirn_posix_aio_suspend(const struct aiocb *const *list, int n, const struct timespec *limit)
{
    posix_signals_expect();
    uint64_t wait = AIO_LOOK_NS, deadline = UINT64_MAX;
    if (limit != NULL) {
        if (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= 1000000000) {
            return posix_fail(EINVAL);
        }
        deadline =
            (uint64_t)limit->tv_sec >= UINT32_MAX
                ? UINT64_MAX
                : port_now() + (uint64_t)limit->tv_sec * 1000000000u + (uint64_t)limit->tv_nsec;
    }
    while (!aio_has_ended(list, n)) {
        uint64_t now = port_now(), next = now + wait;
        if (now >= deadline) {
            return posix_fail(EAGAIN);
        }
        if (posix_is_foreign()) {
            IO_CALL(IO_MAY_BLOCK, SYS_nanosleep, &(struct timespec){.tv_nsec = (long)wait}, NULL);
        } else {
            int error = rt_sleep_point(next < deadline ? next : deadline);
            if (error == -ECANCELED || (error == -EINTR && posix_interrupted(false))) {
                return posix_fail(-error);
            }
        }
        wait = wait < AIO_LOOK_MAX_NS ? 2 * wait : wait;
    }
    return 0;
}
