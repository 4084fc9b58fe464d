/* SPDX-License-Identifier: MIT */
/*
 * io_socket.c - send, recv, accept, connect and their relatives. MSG_DONTWAIT asks the kernel not
 * to block; a socket that the program made non-blocking, or a call with that flag, is left alone.
 */
#include "io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

/* What does not wait for POLLIN, or for more than it. */
#define RECV_OTHER (MSG_ERRQUEUE | MSG_OOB)

static bool leave_alone(int flags)
{
    return (flags & MSG_DONTWAIT) != 0 || io_is_plain();
}

/* Does the socket have messages with bounds? Then a short one is whole. */
static bool has_messages(int fd)
{
    int type = SOCK_STREAM;
    socklen_t size = sizeof(type);
    syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
    return type != SOCK_STREAM;
}

/* Is a result of `got`, the last of several, not yet all that MSG_WAITALL asks for? */
static bool wants_more(int fd, int flags, ssize_t got, size_t missing)
{
    return (flags & MSG_WAITALL) && got > 0 && missing != 0 && !has_messages(fd);
}

ssize_t pirn_posix_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                            socklen_t *from_size)
{
    const struct io_try try = {fd, POLLIN, SO_RCVTIMEO, false};
    enum io_next next =
        leave_alone(flags) || (flags & RECV_OTHER) || ((flags & MSG_WAITALL) && (flags & MSG_PEEK))
            ? IO_BLOCK
            : IO_AGAIN;
    size_t done = 0;
    ssize_t got = -1;
    while (next == IO_AGAIN) {
        got = syscall(SYS_recvfrom, fd, (char *)buffer + done, size - done,
                      (flags & ~MSG_WAITALL) | MSG_DONTWAIT, from, from_size);
        next = io_next(&try, got);
        done += got > 0 ? (size_t)got : 0;
        if (wants_more(fd, flags, got, size - done)) {
            next = IO_AGAIN;
        }
    }
    if (next == IO_BLOCK) {
        got = IO_CALL(IO_MAY_BLOCK, SYS_recvfrom, fd, (char *)buffer + done, size - done, flags,
                      from, from_size);
        done += got > 0 ? (size_t)got : 0;
    }
    return done != 0 ? (ssize_t)done : got;
}

ssize_t pirn_posix_recv(int fd, void *buffer, size_t size, int flags)
{
    return pirn_posix_recvfrom(fd, buffer, size, flags, NULL, NULL);
}

ssize_t pirn_posix_recvmsg(int fd, struct msghdr *message, int flags)
{
    const struct io_try try = {fd, POLLIN, SO_RCVTIMEO, false};
    enum io_next next =
        leave_alone(flags) || (flags & (RECV_OTHER | MSG_WAITALL)) ? IO_BLOCK : IO_AGAIN;
    ssize_t got = -1;
    while (next == IO_AGAIN) {
        got = syscall(SYS_recvmsg, fd, message, flags | MSG_DONTWAIT);
        next = io_next(&try, got);
    }
    return next == IO_DONE ? got : IO_CALL(IO_MAY_BLOCK, SYS_recvmsg, fd, message, flags);
}

/* A stream takes all; what it took before it failed counts. Messages go whole or not at all. */
ssize_t pirn_posix_sendto(int fd, const void *buffer, size_t size, int flags,
                          const struct sockaddr *to, socklen_t to_size)
{
    const struct io_try try = {fd, POLLOUT, SO_SNDTIMEO, false};
    enum io_next next = leave_alone(flags) ? IO_BLOCK : IO_AGAIN;
    size_t done = 0;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        put = syscall(SYS_sendto, fd, (const char *)buffer + done, size - done,
                      flags | MSG_DONTWAIT, to, to_size);
        next = io_next(&try, put);
        done += put > 0 ? (size_t)put : 0;
        if (put > 0 && done < size) {
            next = IO_AGAIN;
        }
    }
    if (next == IO_BLOCK) {
        put = IO_CALL(IO_MAY_BLOCK, SYS_sendto, fd, (const char *)buffer + done, size - done, flags,
                      to, to_size);
        done += put > 0 ? (size_t)put : 0;
    }
    return done != 0 ? (ssize_t)done : put;
}

ssize_t pirn_posix_send(int fd, const void *buffer, size_t size, int flags)
{
    return pirn_posix_sendto(fd, buffer, size, flags, NULL, 0);
}

ssize_t pirn_posix_sendmsg(int fd, const struct msghdr *message, int flags)
{
    const struct io_try try = {fd, POLLOUT, SO_SNDTIMEO, false};
    enum io_next next = leave_alone(flags) ? IO_BLOCK : IO_AGAIN;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        put = syscall(SYS_sendmsg, fd, message, flags | MSG_DONTWAIT);
        next = io_next(&try, put);
    }
    if (next == IO_BLOCK) {
        return IO_CALL(IO_MAY_BLOCK, SYS_sendmsg, fd, message, flags);
    }
    return put <= 0 ? put
                    : put + io_write_rest(fd, message->msg_iov, (int)message->msg_iovlen,
                                          (size_t)put, flags | MSG_NOSIGNAL);
}

int pirn_posix_recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags,
                        struct timespec *limit)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_recvmmsg, fd, messages, n, flags, limit);
}

int pirn_posix_sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_sendmmsg, fd, messages, n, flags);
}

/* No flag makes accept not block: it is asked whether somebody is there. If another thread accepts
 * in between, the call blocks, without its CPU. */
int pirn_posix_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
    const struct io_try try = {fd, POLLIN, SO_RCVTIMEO, false};
    enum io_next next = IO_AGAIN;
    if (io_is_plain() || io_nonblocking(fd)) {
        next = IO_BLOCK;
    }
    while (next == IO_AGAIN) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const struct timespec now = {0, 0};
        long ready = syscall(SYS_ppoll, &p, 1, &now, NULL, (size_t)8);
        if (ready != 0) {
            break;
        }
        posix_fail(EAGAIN); /* not here: errno may have moved since the last round */
        next = io_next(&try, -1);
    }
    return next == IO_DONE ? -1 : (int)IO_CALL(IO_MAY_BLOCK, SYS_accept4, fd, from, size, flags);
}

int pirn_posix_accept(int fd, struct sockaddr *from, socklen_t *size)
{
    return pirn_posix_accept4(fd, from, size, 0);
}

int pirn_posix_connect(int fd, const struct sockaddr *to, socklen_t size)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_connect, fd, to, size);
}
