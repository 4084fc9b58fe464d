/* SPDX-License-Identifier: MIT */
/* io_socket.c - sockets: connections, time-outs, flags, several threads at one socket, errors. */
#include "harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { BIG = 1 << 20 };

static unsigned char out[BIG], in[BIG], back[BIG];
static int fd[2];
static flag_t about_to_call, returned;
static int listener;
static struct sockaddr_in address;

static void pair(int type)
{
    OK(socketpair(AF_UNIX, type, 0, fd));
    for (size_t i = 0; i < sizeof(out); i++) {
        out[i] = (unsigned char)(i * 17 + i / 253);
    }
}

static void listen_on_loopback(int backlog)
{
    socklen_t size = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OK(bind(listener, (struct sockaddr *)&address, size));
    OK(getsockname(listener, (struct sockaddr *)&address, &size));
    OK(listen(listener, backlog));
}

static int connection(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(s >= 0);
    OK(connect(s, (struct sockaddr *)&address, sizeof(address)));
    return s;
}

static void receive_all(int s, unsigned char *to, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = recv(s, to + got, size - got, 0);
        CHECK(n > 0);
        got += (size_t)n;
    }
}

/* A blocking send of a stream is complete when it returns. */
static void *sends_big(void *s)
{
    CHECK_EQ(send(*(int *)s, out, sizeof(out), 0), sizeof(out));
    return s;
}

CASE(send_of_more_than_fits_is_complete)
{
    pair(SOCK_STREAM);
    pthread_t t = start(sends_big, &fd[0]);
    receive_all(fd[1], in, sizeof(in));
    join(t);
    OK(memcmp(in, out, sizeof(out)));
}

static void *sends_message(void *s)
{
    struct iovec v[2] = {{out, 100}, {out + 100, sizeof(out) - 100}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    CHECK_EQ(sendmsg(*(int *)s, &m, 0), sizeof(out));
    return s;
}

CASE(sendmsg_of_more_than_fits_is_complete)
{
    pair(SOCK_STREAM);
    pthread_t t = start(sends_message, &fd[0]);
    receive_all(fd[1], in, sizeof(in));
    join(t);
    OK(memcmp(in, out, sizeof(out)));
}

static void *receives_big(void *s)
{
    receive_all(*(int *)s, *(int *)s == fd[0] ? in : back, BIG);
    return s;
}

/* Both directions at once: four threads at two ends, two at each descriptor. */
CASE(one_thread_reads_while_another_writes_the_same_socket)
{
    pair(SOCK_STREAM);
    pthread_t t[4] = {start(receives_big, &fd[0]), start(receives_big, &fd[1]),
                      start(sends_big, &fd[0]), start(sends_big, &fd[1])};
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    OK(memcmp(in, out, sizeof(out)));
    OK(memcmp(back, out, sizeof(out)));
}

static void *receives_datagrams(void *arg)
{
    int count = 0;
    for (;;) {
        unsigned char text[16];
        ssize_t n = recv(fd[0], text, sizeof(text), 0);
        CHECK(n >= 1);
        if (text[0] == 'q') {
            *(int *)arg = count;
            return NULL;
        }
        CHECK_EQ(n, text[0] - 'a' + 1); /* never two in one, nor a part of one */
        count++;
        sched_yield();
    }
}

CASE(datagrams_stay_whole)
{
    enum { READERS = 3, COUNT_SENT = 300 };
    pthread_t t[READERS];
    int count[READERS], sum = 0;
    pair(SOCK_DGRAM);
    for (int i = 0; i < READERS; i++) {
        t[i] = start(receives_datagrams, &count[i]);
    }
    for (int i = 0; i < COUNT_SENT; i++) {
        char text[16];
        memset(text, 'a' + i % 10, sizeof(text));
        CHECK_EQ(send(fd[1], text, (size_t)(i % 10) + 1, 0), i % 10 + 1);
    }
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(send(fd[1], "q", 1, 0), 1);
    }
    for (int i = 0; i < READERS; i++) {
        join(t[i]);
        sum += count[i];
    }
    CHECK_EQ(sum, COUNT_SENT);
}

static void *receives_exactly(void *arg)
{
    struct iovec v[2] = {{in, 300}, {in + 300, 170}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
    flag_set(&about_to_call, 1);
    CHECK_EQ(recv(fd[0], in, 30, MSG_WAITALL), 30);
    CHECK_EQ(recvmsg(fd[0], &m, MSG_WAITALL), 470);
    flag_set(&returned, 1);
    return arg;
}

CASE(recv_waits_for_all_when_asked)
{
    pair(SOCK_STREAM);
    pthread_t t = start(receives_exactly, NULL);
    flag_wait(&about_to_call, 1);
    for (int i = 0; i < 5; i++) {
        give_way();
        CHECK_EQ(flag_get(&returned), 0);
        CHECK_EQ(send(fd[1], out + i * 100, 100, 0), 100);
    }
    join(t);
    OK(memcmp(in, out + 30, 470));
}

CASE(recv_waits_for_all_until_the_end)
{
    pair(SOCK_STREAM);
    CHECK_EQ(send(fd[1], out, 100, 0), 100);
    OK(shutdown(fd[1], SHUT_WR));
    CHECK_EQ(recv(fd[0], in, 300, MSG_WAITALL), 100);
}

static void *peeks(void *arg)
{
    flag_set(&about_to_call, 1);
    CHECK_EQ(recv(fd[0], in, 10, MSG_PEEK), 1);
    CHECK_EQ(recv(fd[0], in, 10, 0), 1);
    return arg;
}

CASE(peek_waits_and_leaves_the_data)
{
    pair(SOCK_STREAM);
    pthread_t t = start(peeks, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(send(fd[1], "x", 1, 0), 1);
    join(t);
}

CASE(calls_are_eagain_with_dontwait)
{
    struct iovec v = {in, sizeof(in)};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    pair(SOCK_STREAM);
    FAILS(recv(fd[0], in, 1, MSG_DONTWAIT), EAGAIN);
    FAILS(recvfrom(fd[0], in, 1, MSG_DONTWAIT, NULL, NULL), EAGAIN);
    FAILS(recvmsg(fd[0], &m, MSG_DONTWAIT), EAGAIN);
    while (send(fd[0], out, 4096, MSG_DONTWAIT) > 0) {
    }
    CHECK_EQ(get_errno(), EAGAIN);
    FAILS(sendto(fd[0], out, 4096, MSG_DONTWAIT, NULL, 0), EAGAIN);
    CHECK_EQ(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
}

CASE(accept_is_eagain_when_nonblocking)
{
    listen_on_loopback(8);
    OK(fcntl(listener, F_SETFL, O_NONBLOCK));
    FAILS(accept(listener, NULL, NULL), EAGAIN);
    int s = connection();
    struct pollfd p = {listener, POLLIN, 0};
    CHECK_EQ(poll(&p, 1, -1), 1);
    int end = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    CHECK(end >= 0);
    CHECK(fcntl(end, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(end, F_GETFD) & FD_CLOEXEC);
    FAILS(recv(end, in, 1, 0), EAGAIN);
    close(s);
}

static void set_time(int s, int option, long ms)
{
    struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    OK(setsockopt(s, SOL_SOCKET, option, &time, sizeof(time)));
}

/* At least as long as requested, less one jiffy of the kernel's clock. */
static void check_waited(const struct timespec *before, long ms)
{
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ns_between(before, &after) >= (ms - 10) * NS_PER_MS);
}

static void *recv_times_out(void *arg)
{
    struct timespec before;
    clock_gettime(CLOCK_MONOTONIC, &before);
    flag_add(&about_to_call, 1);
    FAILS(arg != NULL ? read(fd[0], in, 1) : recv(fd[0], in, 1, 0), EAGAIN);
    check_waited(&before, 50);
    flag_add(&returned, 1);
    return NULL;
}

CASE(recv_is_eagain_after_its_time)
{
    pair(SOCK_STREAM);
    set_time(fd[0], SO_RCVTIMEO, 50);
    pthread_t t[2] = {start(recv_times_out, NULL), start(recv_times_out, fd)};
    while (flag_get(&returned) < 2) { /* others run meanwhile */
        sched_yield();
    }
    join(t[0]);
    join(t[1]);
}

static void *send_times_out(void *arg)
{
    struct timespec before;
    while (send(fd[0], out, 4096, MSG_DONTWAIT) > 0) {
    }
    clock_gettime(CLOCK_MONOTONIC, &before);
    FAILS(send(fd[0], out, 4096, 0), EAGAIN);
    check_waited(&before, 50);
    return arg;
}

CASE(send_is_eagain_after_its_time)
{
    pair(SOCK_STREAM);
    set_time(fd[0], SO_SNDTIMEO, 50);
    in_thread(send_times_out, NULL);
}

CASE(send_is_partial_after_its_time)
{
    pair(SOCK_STREAM);
    set_time(fd[0], SO_SNDTIMEO, 50);
    ssize_t n = send(fd[0], out, sizeof(out), 0);
    CHECK(n > 0 && n < (ssize_t)sizeof(out));
}

CASE(accept_is_eagain_after_its_time)
{
    struct timespec before;
    listen_on_loopback(8);
    set_time(listener, SO_RCVTIMEO, 50);
    clock_gettime(CLOCK_MONOTONIC, &before);
    FAILS(accept(listener, NULL, NULL), EAGAIN);
    check_waited(&before, 50);
}

static void *receives_x(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(recv(fd[0], in, 8, 0), 1);
    return arg;
}

CASE(recv_in_time_is_not_disturbed)
{
    pair(SOCK_STREAM);
    set_time(fd[0], SO_RCVTIMEO, LONG_MS);
    pthread_t t = start(receives_x, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(send(fd[1], "x", 1, 0), 1);
    join(t);
}

enum { CLIENTS = 24, ACCEPTORS = 4 };
static flag_t accepted;

static void *accepts(void *arg)
{
    for (;;) {
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        int s = accept(listener, (struct sockaddr *)&from, &size);
        CHECK(s >= 0);
        CHECK_EQ(size, sizeof(from));
        CHECK_EQ(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
        unsigned char c;
        CHECK_EQ(recv(s, &c, 1, 0), 1);
        CHECK_EQ(send(s, &c, 1, 0), 1);
        flag_add(&accepted, c != 0 ? 1 : 0); /* before the client can see the end */
        close(s);
        if (c == 0) {
            return arg;
        }
    }
}

static void *asks(void *arg)
{
    unsigned char c = (unsigned char)(long)arg, answer = 0;
    int s = connection();
    CHECK_EQ(send(s, &c, 1, 0), 1);
    CHECK_EQ(recv(s, &answer, 1, 0), 1);
    CHECK_EQ(answer, c);
    CHECK_EQ(recv(s, &answer, 1, 0), 0);
    close(s);
    return NULL;
}

CASE(accept_by_several_threads_takes_each_connection_once)
{
    pthread_t acceptor[ACCEPTORS], client[CLIENTS];
    listen_on_loopback(CLIENTS);
    for (int i = 0; i < ACCEPTORS; i++) {
        acceptor[i] = start(accepts, NULL);
    }
    for (long i = 0; i < CLIENTS; i++) {
        client[i] = start(asks, (void *)(i + 1));
    }
    for (int i = 0; i < CLIENTS; i++) {
        join(client[i]);
    }
    CHECK_EQ(flag_get(&accepted), CLIENTS);
    for (int i = 0; i < ACCEPTORS; i++) {
        asks(NULL); /* 0: the one that accepts it ends */
    }
    for (int i = 0; i < ACCEPTORS; i++) {
        join(acceptor[i]);
    }
}

static void *is_refused(void *arg)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(connect(s, (struct sockaddr *)&address, sizeof(address)), ECONNREFUSED);
    close(s);
    return arg;
}

CASE(connect_is_econnrefused_where_nobody_listens)
{
    listen_on_loopback(1);
    OK(close(listener));
    in_thread(is_refused, NULL);
    is_refused(NULL);
}

static void *accepts_one(void *s)
{
    flag_set(&about_to_call, 1);
    *(int *)s = accept(listener, NULL, NULL);
    CHECK(*(int *)s >= 0);
    return NULL;
}

CASE(connect_and_accept_meet)
{
    int end;
    listen_on_loopback(1);
    pthread_t t = start(accepts_one, &end);
    flag_wait(&about_to_call, 1);
    give_way();
    int s = connection();
    join(t);
    CHECK_EQ(send(s, "x", 1, 0), 1);
    CHECK_EQ(recv(end, in, 8, 0), 1);
    FAILS(connect(s, (struct sockaddr *)&address, sizeof(address)), EISCONN);
}

CASE(connect_is_einprogress_when_nonblocking)
{
    listen_on_loopback(1);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int rc = connect(s, (struct sockaddr *)&address, sizeof(address));
    CHECK(rc == 0 || get_errno() == EINPROGRESS);
    struct pollfd p = {s, POLLOUT, 0};
    CHECK_EQ(poll(&p, 1, -1), 1);
    int error = -1;
    socklen_t size = sizeof(error);
    OK(getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size));
    OK(error);
}

static void *receives_end(void *arg)
{
    flag_add(&about_to_call, 1);
    CHECK_EQ(recv(fd[0], in, 1, 0), 0);
    return arg;
}

CASE(shutdown_ends_the_waits_of_the_peer)
{
    pair(SOCK_STREAM);
    pthread_t t[2] = {start(receives_end, NULL), start(receives_end, NULL)};
    flag_wait(&about_to_call, 2);
    give_way();
    OK(shutdown(fd[1], SHUT_WR));
    join(t[0]);
    join(t[1]);
}

CASE(shutdown_ends_the_waits_at_the_same_socket)
{
    pair(SOCK_STREAM);
    pthread_t t = start(receives_end, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(shutdown(fd[0], SHUT_RD));
    join(t);
}

static void *accept_is_einval(void *arg)
{
    flag_add(&about_to_call, 1);
    FAILS(accept(listener, NULL, NULL), EINVAL);
    return arg;
}

/* The usual way on Linux to end a thread that accepts. */
CASE(shutdown_ends_the_wait_for_connections)
{
    listen_on_loopback(1);
    pthread_t t = start(accept_is_einval, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(shutdown(listener, SHUT_RDWR));
    join(t);
}

static void *is_reset(void *arg)
{
    flag_add(&about_to_call, 1);
    FAILS(recv(*(int *)arg, in, 1, 0), ECONNRESET);
    return NULL;
}

CASE(recv_that_waits_is_econnreset)
{
    struct linger at_once = {.l_onoff = 1};
    listen_on_loopback(1);
    int s = connection(), end = accept(listener, NULL, NULL);
    pthread_t t = start(is_reset, &s);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
    OK(close(end));
    join(t);
}

static void *send_is_epipe(void *arg)
{
    flag_add(&about_to_call, 1);
    ssize_t n = send(fd[0], out, sizeof(out), MSG_NOSIGNAL);
    if (n > 0) { /* a part was sent before */
        FAILS(send(fd[0], out, 1, MSG_NOSIGNAL), EPIPE);
    } else {
        CHECK_EQ(get_errno(), EPIPE);
    }
    return arg;
}

CASE(send_that_waits_is_epipe_when_the_peer_closes)
{
    pair(SOCK_STREAM); /* the default action of SIGPIPE would end the process */
    pthread_t t = start(send_is_epipe, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(close(fd[1]));
    join(t);
}

CASE(calls_are_errors_for_no_socket)
{
    int no_socket[2];
    OK(pipe(no_socket));
    int closed = dup(STDIN_FILENO);
    OK(close(closed));
    struct sockaddr *a = (struct sockaddr *)&address;
    FAILS(recv(closed, in, 1, 0), EBADF);
    FAILS(send(closed, in, 1, 0), EBADF);
    FAILS(accept(closed, NULL, NULL), EBADF);
    FAILS(accept4(-1, NULL, NULL, 0), EBADF);
    FAILS(connect(closed, a, sizeof(address)), EBADF);
    FAILS(recv(no_socket[0], in, 1, 0), ENOTSOCK);
    FAILS(send(no_socket[1], in, 1, 0), ENOTSOCK);
    FAILS(accept(no_socket[0], NULL, NULL), ENOTSOCK);
    FAILS(connect(no_socket[0], a, sizeof(address)), ENOTSOCK);
}

CASE(calls_are_errors_without_a_connection)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(recv(s, in, 1, 0), ENOTCONN);
    FAILS(send(s, in, 1, MSG_NOSIGNAL), EPIPE);
    FAILS(accept(s, NULL, NULL), EINVAL);
    FAILS(accept4(s, NULL, NULL, 1), EINVAL);
    FAILS(connect(s, (struct sockaddr *)&address, 1), EINVAL);
    pair(SOCK_DGRAM);
    FAILS(accept(fd[0], NULL, NULL), EOPNOTSUPP);
    FAILS(recv(fd[0], in, 1, MSG_OOB), EOPNOTSUPP);
    FAILS(send(fd[0], out, sizeof(out), 0), EMSGSIZE);
}

/* A descriptor goes to a thread that waits for it, as ancillary data. */
static void *receives_descriptor(void *result)
{
    char control[CMSG_SPACE(sizeof(int))], c;
    struct iovec v = {&c, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    flag_set(&about_to_call, 1);
    CHECK_EQ(recvmsg(fd[0], &m, MSG_CMSG_CLOEXEC), 1);
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    CHECK(h != NULL && h->cmsg_type == SCM_RIGHTS);
    memcpy(result, CMSG_DATA(h), sizeof(int));
    return NULL;
}

CASE(recvmsg_receives_descriptors)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    int ends[2], received = -1;
    struct iovec v = {"x", 1};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    pair(SOCK_STREAM);
    OK(pipe(ends));
    pthread_t t = start(receives_descriptor, &received);
    flag_wait(&about_to_call, 1);
    give_way();
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &ends[1], sizeof(int));
    CHECK_EQ(sendmsg(fd[1], &m, 0), 1);
    join(t);
    CHECK_EQ(write(received, "y", 1), 1);
    CHECK_EQ(read(ends[0], in, 1), 1);
}
