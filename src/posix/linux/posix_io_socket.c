/* SPDX-License-Identifier: MIT */
/*
 * posix_io_socket.c - send, recv, accept, connect and their relatives. MSG_DONTWAIT asks the kernel
 * not to block. A socket that the program made non-blocking, and a call with that flag, are left
 * alone.
 */
#include "posix_io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

/* Flags of receives that wait for something other than POLLIN. */
#define RECV_OTHER (MSG_ERRQUEUE | MSG_OOB)

static bool leave_alone(int flags)
{
    return (flags & MSG_DONTWAIT) != 0 || io_is_plain();
}

/* True if the socket keeps the bounds of messages: then a short message is complete. */
static bool has_messages(int fd)
{
    int type = SOCK_STREAM;
    socklen_t size = sizeof(type);
    syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
    return type != SOCK_STREAM;
}

ssize_t pirn_posix_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                            socklen_t *from_size)
{
    struct io_try try;
    bool all = (flags & MSG_WAITALL) != 0,
         tries = !leave_alone(flags) && !(flags & RECV_OTHER) && !(all && (flags & MSG_PEEK));
    enum io_next next = io_try_start(&try, fd, POLLIN, SO_RCVTIMEO) && tries ? IO_AGAIN : IO_BLOCK;
    ssize_t got = -1;
    try.whole = all;
    while (next == IO_AGAIN) {
        int number = io_try_fd(&try);
        got = syscall(SYS_recvfrom, number, (char *)buffer + try.done, size - try.done,
                      (flags & ~MSG_WAITALL) | MSG_DONTWAIT, from, from_size);
        bool more = all && got > 0 && (size_t)got < size - try.done && !has_messages(number);
        next = io_next(&try, got, more);
    }
    if (next == IO_BLOCK) {
        got = IO_CALL(try.how, SYS_recvfrom, try.fd, (char *)buffer + try.done, size - try.done,
                      flags, from, from_size);
        io_left(&try, got);
    }
    return io_result(&try, got);
}

ssize_t pirn_posix_recv(int fd, void *buffer, size_t size, int flags)
{
    return pirn_posix_recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* Receives the message, or, after a part of it, the next piece. */
static ssize_t receive_some(int fd, struct msghdr *message, const struct iovec *rest, int flags)
{
    return rest == NULL ? syscall(SYS_recvmsg, fd, message, flags)
                        : syscall(SYS_recvfrom, fd, rest->iov_base, rest->iov_len, flags, NULL, 0);
}

/* With MSG_WAITALL a stream receives in pieces. Not if there is room for control data, because the
 * kernel ends the call behind data that has some. */
ssize_t pirn_posix_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct io_try try;
    struct iovec piece, *rest = NULL;
    bool all = (flags & MSG_WAITALL) != 0, more = false,
         tries = !leave_alone(flags) && !(flags & RECV_OTHER) &&
                 !(all && ((flags & MSG_PEEK) || message->msg_controllen != 0));
    enum io_next next = io_try_start(&try, fd, POLLIN, SO_RCVTIMEO) && tries ? IO_AGAIN : IO_BLOCK;
    ssize_t got = -1;
    try.whole = all;
    while (next == IO_AGAIN) {
        int number = io_try_fd(&try);
        got = receive_some(number, message, rest, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
        if (all && got > 0) {
            piece = io_rest(message->msg_iov, message->msg_iovlen, try.done + (size_t)got, &more);
            rest = &piece;
            more = more && !has_messages(number);
        }
        next = io_next(&try, got, got > 0 && more);
    }
    if (next == IO_BLOCK) {
        got = rest == NULL ? IO_CALL(try.how, SYS_recvmsg, try.fd, message, flags)
                           : IO_CALL(try.how, SYS_recvfrom, try.fd, rest->iov_base, rest->iov_len,
                                     flags, NULL, 0);
        io_left(&try, got);
    }
    return io_result(&try, got);
}

/* A stream sends everything; if it fails after a part, the result is that part. A message goes
 * completely or not at all. */
ssize_t pirn_posix_sendto(int fd, const void *buffer, size_t size, int flags,
                          const struct sockaddr *to, socklen_t to_size)
{
    struct io_try try;
    enum io_next next =
        io_try_start(&try, fd, POLLOUT, SO_SNDTIMEO) && !leave_alone(flags) ? IO_AGAIN : IO_BLOCK;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        size_t left = size - try.done;
        put = syscall(SYS_sendto, io_try_fd(&try), (const char *)buffer + try.done, left,
                      flags | MSG_DONTWAIT, to, to_size);
        next = io_next(&try, put, put > 0 && (size_t)put < left);
    }
    if (next == IO_BLOCK) {
        put = IO_CALL(try.how, SYS_sendto, try.fd, (const char *)buffer + try.done, size - try.done,
                      flags, to, to_size);
        io_left(&try, put);
    }
    return io_result(&try, put);
}

ssize_t pirn_posix_send(int fd, const void *buffer, size_t size, int flags)
{
    return pirn_posix_sendto(fd, buffer, size, flags, NULL, 0);
}

/* Sends the rest of the vector, after the first attempt, in pieces. */
static ssize_t send_some(int fd, const struct msghdr *message, const struct iovec *rest, int flags)
{
    return rest == NULL ? syscall(SYS_sendmsg, fd, message, flags)
                        : syscall(SYS_sendto, fd, rest->iov_base, rest->iov_len, flags, NULL, 0);
}

ssize_t pirn_posix_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct io_try try;
    struct iovec piece, *rest = NULL;
    enum io_next next =
        io_try_start(&try, fd, POLLOUT, SO_SNDTIMEO) && !leave_alone(flags) ? IO_AGAIN : IO_BLOCK;
    bool more = false;
    ssize_t put = -1;
    while (next == IO_AGAIN) {
        put = send_some(io_try_fd(&try), message, rest, flags | MSG_DONTWAIT);
        if (put > 0) {
            piece = io_rest(message->msg_iov, message->msg_iovlen, try.done + (size_t)put, &more);
            rest = &piece;
            flags |= MSG_NOSIGNAL; /* part of the data has been sent: the result is that part */
        }
        next = io_next(&try, put, put > 0 && more);
    }
    if (next == IO_BLOCK) {
        put = rest == NULL ? IO_CALL(try.how, SYS_sendmsg, try.fd, message, flags)
                           : IO_CALL(try.how, SYS_sendto, try.fd, rest->iov_base, rest->iov_len,
                                     flags, NULL, 0);
        io_left(&try, put);
    }
    return io_result(&try, put);
}

/* The kernel looks at the limit after each message, and stores what is left of it. */
int pirn_posix_recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags,
                        struct timespec *limit)
{
    struct timespec left = {.tv_sec = -1};
    int got =
        (int)IO_CALL_LIMITED(IO_RESTARTS, 5, &left, SYS_recvmmsg, fd, messages, n, flags, limit);
    if (got > 0 && left.tv_sec >= 0) {
        *limit = left;
    }
    return got;
}

int pirn_posix_sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_sendmmsg, fd, messages, n, flags);
}

/* No flag makes accept not block, so the thread first asks whether a connection waits. If another
 * thread accepts it in between, the call blocks without its CPU. After a wait the call uses a copy
 * of the descriptor, which names the socket that the thread has waited for. */
int pirn_posix_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
    struct io_try try;
    enum io_next next = io_try_start(&try, fd, POLLIN, SO_RCVTIMEO) ? IO_AGAIN : IO_BLOCK;
    while (next == IO_AGAIN) {
        struct pollfd p = {.fd = io_try_fd(&try), .events = POLLIN};
        const struct timespec now = {0, 0};
        if (p.fd < 0) {
            posix_fail(EBADF);
            next = io_next(&try, -1, false);
        } else if (syscall(SYS_ppoll, &p, 1, &now, NULL, (size_t)8) != 0) {
            next = io_take(&try);
        } else {
            posix_fail(EAGAIN); /* not earlier: the address of errno may have changed since the last
                                 * round */
            next = io_next(&try, -1, false);
        }
    }
    if (next == IO_DONE) {
        return -1;
    }
    int got = (int)IO_CALL(try.how, SYS_accept4, try.fd, from, size, flags);
    io_left(&try, got < 0 ? -1 : 0);
    return got;
}

int pirn_posix_accept(int fd, struct sockaddr *from, socklen_t *size)
{
    return pirn_posix_accept4(fd, from, size, 0);
}

int pirn_posix_connect(int fd, const struct sockaddr *to, socklen_t size)
{
    return (int)IO_CALL(IO_MAY_BLOCK, SYS_connect, fd, to, size);
}
