/* SPDX-License-Identifier: MIT */
/* calls.c - calls of descriptors; see calls.h. The state is global: a process makes one call. */
#include "calls.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>

enum { BIG = 1 << 20 }; /* more than a pipe or a socket of a pair holds */

static char buffer[BIG];
static struct iovec vector = {buffer, 1};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
static struct mmsghdr messages = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
static int fd = -1, other_fd = -1; /* the call's descriptor, and that of `satisfy` */

int error_of(long result)
{
    return result == -1 ? get_errno() : 0;
}

int gives(long result, long want)
{
    if (result != -1) {
        CHECK_EQ(result, want);
    }
    return error_of(result);
}

static void pipe_setup(void)
{
    int ends[2];
    OK(pipe(ends));
    fd = ends[0];
    other_fd = ends[1];
}

static void fill(int end)
{
    int flags = fcntl(end, F_GETFL);
    OK(fcntl(end, F_SETFL, flags | O_NONBLOCK));
    for (size_t n = sizeof(buffer); n > 0; n /= 2) {
        while (write(end, buffer, n) > 0) {
        }
    }
    CHECK_EQ(get_errno(), EAGAIN);
    OK(fcntl(end, F_SETFL, flags));
}

static void full_pipe_setup(void)
{
    int ends[2];
    OK(pipe(ends));
    fd = ends[1];
    other_fd = ends[0];
    fill(fd);
}

static void socket_setup(void)
{
    int ends[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    fd = ends[0];
    other_fd = ends[1];
}

static void full_socket_setup(void)
{
    socket_setup();
    fill(fd);
}

static void send_byte(void)
{
    CHECK_EQ(write(other_fd, "x", 1), 1);
}

/* Reads everything, so that a writer of one byte can continue in any case. */
static void take_all(void)
{
    OK(fcntl(other_fd, F_SETFL, fcntl(other_fd, F_GETFL) | O_NONBLOCK));
    CHECK(read(other_fd, buffer, sizeof(buffer)) > 0);
    while (read(other_fd, buffer, sizeof(buffer)) > 0) {
    }
}

static int got_byte(long result)
{
    int error = gives(result, 1);
    CHECK(error != 0 || buffer[0] == 'x');
    return error;
}

/* Reading. */

static int run_read(void)
{
    return got_byte(read(fd, buffer, sizeof(buffer)));
}
static int run_readv(void)
{
    return got_byte(readv(fd, &vector, 1));
}
static int run_preadv2(void)
{
    return got_byte(preadv2(fd, &vector, 1, -1, 0));
}
static int run_recv(void)
{
    return got_byte(recv(fd, buffer, sizeof(buffer), 0));
}
static int run_recvfrom(void)
{
    return got_byte(recvfrom(fd, buffer, sizeof(buffer), 0, NULL, NULL));
}
static int run_recvmsg(void)
{
    return got_byte(recvmsg(fd, &message, 0));
}
static int run_recvmmsg(void)
{
    return gives(recvmmsg(fd, &messages, 1, 0, NULL), 1);
}
static int run_splice(void)
{
    int ends[2];
    OK(pipe(ends));
    return gives(splice(fd, NULL, ends[1], NULL, 1, 0), 1);
}

/* Descriptors other than pipes and sockets. */

static void eventfd_setup(void)
{
    fd = other_fd = eventfd(0, 0);
    CHECK(fd >= 0);
}

static void full_eventfd_setup(void)
{
    eventfd_setup();
    OK(eventfd_write(fd, UINT64_MAX - 1));
}

static void count_one(void)
{
    OK(eventfd_write(other_fd, 1));
}

static void take_count(void)
{
    eventfd_t value;
    OK(eventfd_read(other_fd, &value));
}

static int run_eventfd_read(void)
{
    eventfd_t value = 0;
    int error = gives(eventfd_read(fd, &value), 0);
    CHECK(error != 0 || value == 1);
    return error;
}

static int run_eventfd_write(void)
{
    return gives(eventfd_write(fd, 1), 0);
}

static void timerfd_setup(void)
{
    fd = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(fd >= 0);
}

static void timer_ends(void)
{
    struct itimerspec at = {.it_value = {.tv_nsec = 1}};
    OK(timerfd_settime(fd, 0, &at, NULL));
}

static int run_read_timerfd(void)
{
    uint64_t count = 0;
    int error = gives(read(fd, &count, sizeof(count)), sizeof(count));
    CHECK(error != 0 || count == 1);
    return error;
}

static void terminal_setup(void)
{
    struct termios t;
    other_fd = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(other_fd >= 0);
    OK(grantpt(other_fd));
    OK(unlockpt(other_fd));
    fd = open(ptsname(other_fd), O_RDWR | O_NOCTTY);
    CHECK(fd >= 0);
    OK(tcgetattr(fd, &t));
    cfmakeraw(&t);
    OK(tcsetattr(fd, TCSANOW, &t));
}

static char watched[32];

/* A file without a name, which no other process opens. */
static void inotify_setup(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX";
    int file = mkstemp(name);
    CHECK(file >= 0);
    OK(unlink(name));
    snprintf(watched, sizeof(watched), "/proc/self/fd/%d", file);
    fd = inotify_init1(0);
    CHECK(inotify_add_watch(fd, watched, IN_OPEN) >= 0);
}

static void open_watched(void)
{
    CHECK(open(watched, O_RDONLY) >= 0);
}

static int run_read_inotify(void)
{
    long n = read(fd, buffer, sizeof(buffer));
    return n > 0 ? 0 : error_of(n);
}

/* Writing. */

static int run_write(void)
{
    return gives(write(fd, "x", 1), 1);
}
static int run_writev(void)
{
    return gives(writev(fd, &vector, 1), 1);
}
static int run_pwritev2(void)
{
    return gives(pwritev2(fd, &vector, 1, -1, 0), 1);
}
static int run_send(void)
{
    return gives(send(fd, "x", 1, 0), 1);
}
static int run_sendto(void)
{
    return gives(sendto(fd, "x", 1, 0, NULL, 0), 1);
}
static int run_sendmsg(void)
{
    return gives(sendmsg(fd, &message, 0), 1);
}
static int run_sendmmsg(void)
{
    return gives(sendmmsg(fd, &messages, 1, 0), 1);
}
static int run_sendfile(void)
{
    int file = open("/proc/self/exe", O_RDONLY);
    CHECK(file >= 0);
    int error = gives(sendfile(fd, file, NULL, 1), 1);
    close(file);
    return error;
}

/* Connections. */

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;

static void listen_setup(void)
{
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "pirn-%d", (int)getpid());
    address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    OK(bind(fd, (struct sockaddr *)&address, address_size));
    OK(listen(fd, 0));
    other_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(other_fd >= 0);
}

/* No thread accepts, so a further connection waits. */
static void full_listen_setup(void)
{
    listen_setup();
    for (;;) {
        int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(s, (struct sockaddr *)&address, address_size) != 0) {
            CHECK_EQ(get_errno(), EAGAIN);
            close(s);
            return;
        }
    }
}

static void connect_to_it(void)
{
    OK(connect(other_fd, (struct sockaddr *)&address, address_size));
}

static void accept_one(void)
{
    CHECK(accept(fd, NULL, NULL) >= 0);
}

static int run_accept(void)
{
    return error_of(accept(fd, NULL, NULL));
}
static int run_accept4(void)
{
    return error_of(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
}
static int run_connect(void)
{
    return gives(connect(other_fd, (struct sockaddr *)&address, address_size), 0);
}

/* Waiting for descriptors. */

static int epoll_fd;

static void epoll_setup(void)
{
    pipe_setup();
    struct epoll_event event = {.events = EPOLLIN};
    epoll_fd = epoll_create1(0);
    CHECK(epoll_fd >= 0);
    OK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event));
}

static struct epoll_event event;
static const struct timespec long_time = {.tv_sec = LONG_MS / 1000};

static int run_poll(void)
{
    struct pollfd p = {fd, POLLIN, 0};
    return gives(poll(&p, 1, -1), 1);
}
static int run_poll_timed(void)
{
    struct pollfd p = {fd, POLLIN, 0};
    return gives(poll(&p, 1, LONG_MS), 1);
}
static int run_ppoll(void)
{
    struct pollfd p = {fd, POLLIN, 0};
    return gives(ppoll(&p, 1, NULL, NULL), 1);
}
static int run_ppoll_timed(void)
{
    struct pollfd p = {fd, POLLIN, 0};
    return gives(ppoll(&p, 1, &long_time, NULL), 1);
}
static int run_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return gives(select(fd + 1, &set, NULL, NULL, NULL), 1);
}
static int run_select_timed(void)
{
    struct timeval time = {.tv_sec = LONG_MS / 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return gives(select(fd + 1, &set, NULL, NULL, &time), 1);
}
static int run_pselect(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return gives(pselect(fd + 1, &set, NULL, NULL, NULL, NULL), 1);
}
static int run_epoll_wait(void)
{
    return gives(epoll_wait(epoll_fd, &event, 1, -1), 1);
}
static int run_epoll_wait_timed(void)
{
    return gives(epoll_wait(epoll_fd, &event, 1, LONG_MS), 1);
}
static int run_epoll_pwait(void)
{
    return gives(epoll_pwait(epoll_fd, &event, 1, -1, NULL), 1);
}
static int run_epoll_pwait2(void)
{
    return gives(epoll_pwait2(epoll_fd, &event, 1, NULL, NULL), 1);
}

static const struct call calls[] = {
    {"read", pipe_setup, run_read, send_byte, RESTARTS},
    {"read_socket", socket_setup, run_read, send_byte, RESTARTS},
    {"read_terminal", terminal_setup, run_read, send_byte, RESTARTS},
    {"read_timerfd", timerfd_setup, run_read_timerfd, timer_ends, RESTARTS},
    {"read_inotify", inotify_setup, run_read_inotify, open_watched, RESTARTS},
    {"readv", pipe_setup, run_readv, send_byte, RESTARTS},
    {"preadv2", pipe_setup, run_preadv2, send_byte, RESTARTS},
    {"recv", socket_setup, run_recv, send_byte, RESTARTS},
    {"recvfrom", socket_setup, run_recvfrom, send_byte, RESTARTS},
    {"recvmsg", socket_setup, run_recvmsg, send_byte, RESTARTS},
    {"recvmmsg", socket_setup, run_recvmmsg, send_byte, RESTARTS},
    {"splice", pipe_setup, run_splice, send_byte, RESTARTS},
    {"eventfd_read", eventfd_setup, run_eventfd_read, count_one, RESTARTS},
    {"write", full_pipe_setup, run_write, take_all, RESTARTS},
    {"write_socket", full_socket_setup, run_write, take_all, RESTARTS},
    {"writev", full_pipe_setup, run_writev, take_all, RESTARTS},
    {"pwritev2", full_pipe_setup, run_pwritev2, take_all, RESTARTS},
    {"send", full_socket_setup, run_send, take_all, RESTARTS},
    {"sendto", full_socket_setup, run_sendto, take_all, RESTARTS},
    {"sendmsg", full_socket_setup, run_sendmsg, take_all, RESTARTS},
    {"sendmmsg", full_socket_setup, run_sendmmsg, take_all, RESTARTS},
    {"sendfile", full_socket_setup, run_sendfile, take_all, RESTARTS},
    {"eventfd_write", full_eventfd_setup, run_eventfd_write, take_count, RESTARTS},
    {"accept", listen_setup, run_accept, connect_to_it, RESTARTS},
    {"accept4", listen_setup, run_accept4, connect_to_it, RESTARTS},
    {"connect", full_listen_setup, run_connect, accept_one, RESTARTS},
    {"poll", pipe_setup, run_poll, send_byte, ALWAYS_EINTR},
    {"poll_timed", pipe_setup, run_poll_timed, send_byte, ALWAYS_EINTR},
    {"ppoll", pipe_setup, run_ppoll, send_byte, ALWAYS_EINTR},
    {"ppoll_timed", pipe_setup, run_ppoll_timed, send_byte, ALWAYS_EINTR},
    {"select", pipe_setup, run_select, send_byte, ALWAYS_EINTR},
    {"select_timed", pipe_setup, run_select_timed, send_byte, ALWAYS_EINTR},
    {"pselect", pipe_setup, run_pselect, send_byte, ALWAYS_EINTR},
    {"epoll_wait", epoll_setup, run_epoll_wait, send_byte, ALWAYS_EINTR},
    {"epoll_wait_timed", epoll_setup, run_epoll_wait_timed, send_byte, ALWAYS_EINTR},
    {"epoll_pwait", epoll_setup, run_epoll_pwait, send_byte, ALWAYS_EINTR},
    {"epoll_pwait2", epoll_setup, run_epoll_pwait2, send_byte, ALWAYS_EINTR},
};

const struct call_table descriptor_calls = {calls, COUNT(calls)};

static const struct call *current;
static flag_t about_to_call, returned;
static int result;

static void *calls_it(void *arg)
{
    flag_set(&about_to_call, 1);
    result = current->run();
    flag_set(&returned, 1);
    return arg;
}

static void *satisfies(void *arg)
{
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(flag_get(&returned), 0);
    current->satisfy();
    return arg;
}

pthread_t call_start(const struct call *c)
{
    current = c;
    c->setup();
    pthread_t t = start(calls_it, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    return t;
}

bool call_has_returned(void)
{
    return flag_get(&returned) != 0;
}

int call_result(void)
{
    CHECK(call_has_returned());
    return result;
}

int call_here(const struct call *c)
{
    current = c;
    c->setup();
    pthread_t t = start(satisfies, NULL);
    calls_it(NULL);
    join(t);
    return result;
}
