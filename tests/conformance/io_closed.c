/* SPDX-License-Identifier: MIT */
/*
 * io_closed.c - a thread is blocked in a call, and another one closes the descriptor, or gives its
 * number to another file. In Linux the call keeps its file until it ends: it gets that file's data,
 * and nothing of the file that has the number now.
 *
 * A thread that has not called yet when the number changes correctly gets the other file's data. So
 * each case is tried with growing delays before the change, and passes when the call had begun. If
 * the runtime mixes files up, it never passes. Calls that have done a part of their work are known
 * to have begun.
 *
 * Length: one table of files and of ways to lose a number, which all calls use.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "harness.h"

#define TRIES 10

/* ---- files ---- */

struct file {
    int fd;   /* the call's descriptor */
    int feed; /* the other end, or a copy */
};

static void pipe_open(struct file *f)
{
    int ends[2];
    OK(pipe(ends));
    *f = (struct file){ends[0], ends[1]};
}

static void sockets_open(struct file *f, int type)
{
    int ends[2];
    OK(socketpair(AF_UNIX, type, 0, ends));
    *f = (struct file){ends[0], ends[1]};
}

static void stream_open(struct file *f)
{
    sockets_open(f, SOCK_STREAM);
}

static void datagram_open(struct file *f)
{
    sockets_open(f, SOCK_DGRAM);
}

static void terminal_open(struct file *f)
{
    OK(openpty(&f->feed, &f->fd, NULL, NULL, NULL));
}

static void event_open(struct file *f)
{
    f->fd = eventfd(0, 0);
    f->feed = dup(f->fd);
}

static void timer_open(struct file *f)
{
    f->fd = timerfd_create(CLOCK_MONOTONIC, 0);
    f->feed = dup(f->fd);
}

static void inotify_open(struct file *f)
{
    f->fd = inotify_init();
    CHECK(inotify_add_watch(f->fd, "/tmp", IN_OPEN) >= 0);
    f->feed = dup(f->fd);
}

static void feed_bytes(const struct file *f)
{
    ssize_t put = write(f->feed, "old\n", 4);
    bool nobody_reads = put == -1 && (errno == EPIPE || errno == ECONNREFUSED);
    CHECK(put == 4 || nobody_reads);
}

static void feed_event(const struct file *f)
{
    OK(eventfd_write(f->feed, 4711));
}

static void feed_timer(const struct file *f)
{
    struct itimerspec at = {.it_value = {.tv_nsec = 1}};
    OK(timerfd_settime(f->feed, 0, &at, NULL));
}

static void feed_inotify(const struct file *f)
{
    (void)f;
    close(open("/tmp", O_RDONLY));
}

static bool is_bytes(const char *b, ssize_t n)
{
    return n == 4 && memcmp(b, "old\n", 4) == 0;
}

static bool is_event(const char *b, ssize_t n)
{
    uint64_t value;
    memcpy(&value, b, sizeof(value));
    return n == sizeof(value) && value == 4711;
}

static bool is_timer(const char *b, ssize_t n)
{
    uint64_t value;
    memcpy(&value, b, sizeof(value));
    return n == sizeof(value) && value == 1;
}

static bool is_inotify(const char *b, ssize_t n)
{
    struct inotify_event event;
    memcpy(&event, b, sizeof(event));
    return n >= (ssize_t)sizeof(event) && (event.mask & IN_OPEN);
}

static const struct kind {
    const char *name;
    void (*open)(struct file *f);
    void (*feed)(const struct file *f);
    bool (*is_right)(const char *b, ssize_t n);
} kinds[] = {
    {"pipe", pipe_open, feed_bytes, is_bytes},
    {"stream_socket", stream_open, feed_bytes, is_bytes},
    {"datagram_socket", datagram_open, feed_bytes, is_bytes},
    {"terminal", terminal_open, feed_bytes, is_bytes},
    {"eventfd", event_open, feed_event, is_event},
    {"timerfd", timer_open, feed_timer, is_timer},
    {"inotify", inotify_open, feed_inotify, is_inotify},
};

/* ---- ways to lose a number; `other` is a file with something to read ---- */

static void takes_number(int other, int fd)
{
    while (fcntl(fd, F_GETFD) < 0) {
        if (dup(other) < 0) {
            return;
        }
    }
}

static void by_close(int fd, int other)
{
    OK(close(fd));
    takes_number(other, fd);
}

static void by_dup2(int fd, int other)
{
    CHECK_EQ(dup2(other, fd), fd);
}

static void by_dup3(int fd, int other)
{
    CHECK_EQ(dup3(other, fd, O_CLOEXEC), fd);
}

static void by_close_range(int fd, int other)
{
    OK(close_range((unsigned)fd, (unsigned)fd, 0));
    takes_number(other, fd);
}

static void by_fclose(int fd, int other)
{
    FILE *f = fdopen(fd, "r");
    OK(fclose(f));
    takes_number(other, fd);
}

static void by_freopen(int fd, int other)
{
    FILE *f = fdopen(fd, "r");
    (void)other;
    CHECK(freopen("/dev/zero", "r", f) != NULL);
}

static const struct way {
    const char *name;
    void (*lose)(int fd, int other);
} ways[] = {
    {"close", by_close},   {"dup2", by_dup2},
    {"dup3", by_dup3},     {"close_range", by_close_range},
    {"fclose", by_fclose}, {"freopen", by_freopen},
};

/* ---- calls that read ---- */

static ssize_t call_read(int fd, char *b, size_t n)
{
    return read(fd, b, n);
}

static ssize_t call_readv(int fd, char *b, size_t n)
{
    struct iovec iov[2] = {{b, 1}, {b + 1, n - 1}};
    return readv(fd, iov, 2);
}

static ssize_t call_recv(int fd, char *b, size_t n)
{
    return recv(fd, b, n, 0);
}

static ssize_t call_recvmsg(int fd, char *b, size_t n)
{
    struct iovec iov = {b, n};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    return recvmsg(fd, &message, 0);
}

struct reader {
    ssize_t (*call)(int fd, char *b, size_t n);
    int fd;
    ssize_t got;
    char bytes[4096];
    flag_t begins;
};

static void *reads(void *arg)
{
    struct reader *r = arg;
    flag_set(&r->begins, 1);
    r->got = r->call(r->fd, r->bytes, r->fd >= 0 ? 4096 : 0);
    return NULL;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * NS_PER_MS};
    nanosleep(&t, NULL);
}

#define WRONG (3 * 4096) /* enough for all readers */

static int other_file(void)
{
    static const char wrong[WRONG] = "WRONG";
    struct file other;
    stream_open(&other);
    CHECK_EQ(write(other.feed, wrong, sizeof(wrong)), sizeof(wrong));
    return other.fd;
}

/* True if the result is right. */
static bool reads_its_file(const struct kind *kind, const struct way *way,
                           ssize_t (*call)(int, char *, size_t), unsigned readers, long ms)
{
    static struct reader r[2];
    pthread_t t[2];
    struct file f;
    bool right = true;
    kind->open(&f);
    int other = other_file();
    for (unsigned i = 0; i < readers; i++) {
        r[i] = (struct reader){.call = call, .fd = f.fd};
        t[i] = start(reads, &r[i]);
        flag_wait(&r[i].begins, 1);
    }
    pause_ms(ms);
    way->lose(f.fd, other);
    for (unsigned i = 0; i < readers; i++) { /* one feed may be one reader's */
        kind->feed(&f);
    }
    for (unsigned i = 0; i < readers; i++) {
        join(t[i]);
        right = right && r[i].got > 0 && kind->is_right(r[i].bytes, r[i].got);
    }
    return right;
}

struct row {
    const struct kind *kind;
    const struct way *way;
};

static void read_keeps_its_file(const void *arg)
{
    const struct row *row = arg;
    bool right = false;
    signal(SIGPIPE, SIG_IGN);
    long ms = 2;
    for (int i = 0; i < TRIES && !right; i++, ms *= 2) {
        right = reads_its_file(row->kind, row->way, call_read, 1, ms);
    }
    CHECK(right);
}

static const char *row_name(const void *arg)
{
    const struct row *row = arg;
    char *name = malloc(96);
    snprintf(name, 96, "read_of_%s_keeps_its_file_beside_%s", row->kind->name, row->way->name);
    return name;
}

static __attribute__((constructor)) void add_all(void)
{
    static struct row rows[COUNT(kinds) * COUNT(ways)];
    for (size_t i = 0; i < COUNT(rows); i++) {
        rows[i] = (struct row){&kinds[i / COUNT(ways)], &ways[i % COUNT(ways)]};
    }
    cases_add(read_keeps_its_file, rows, sizeof(struct row), COUNT(rows), row_name);
}

static void keeps_its_file(ssize_t (*call)(int, char *, size_t), unsigned readers)
{
    bool right = false;
    signal(SIGPIPE, SIG_IGN);
    long ms = 2;
    for (int i = 0; i < TRIES && !right; i++, ms *= 2) {
        right = reads_its_file(&kinds[readers == 1 ? 1 : 2], &ways[1], call, readers, ms);
    }
    CHECK(right);
}

CASE(readv_keeps_its_file)
{
    keeps_its_file(call_readv, 1);
}

CASE(recv_keeps_its_file)
{
    keeps_its_file(call_recv, 1);
}

CASE(recvmsg_keeps_its_file)
{
    keeps_its_file(call_recvmsg, 1);
}

CASE(two_readers_keep_their_file)
{
    keeps_its_file(call_read, 2);
}

/* ---- calls that are known to have begun ---- */

static long queued(int fd)
{
    int n = 0;
    OK(ioctl(fd, FIONREAD, &n));
    return n;
}

static ssize_t call_recv_all(int fd, char *b, size_t n)
{
    (void)n;
    return recv(fd, b, 4, MSG_WAITALL);
}

CASE(recv_of_all_goes_on_with_its_file)
{
    static struct reader r;
    struct file f;
    stream_open(&f);
    int keep = dup(f.fd), other = other_file();
    CHECK_EQ(write(f.feed, "ol", 2), 2);
    r = (struct reader){.call = call_recv_all, .fd = f.fd};
    pthread_t t = start(reads, &r);
    while (queued(keep) != 0) {
        sched_yield();
    }
    give_way();
    CHECK_EQ(dup2(other, f.fd), f.fd);
    CHECK_EQ(write(f.feed, "d\n", 2), 2);
    join(t);
    CHECK_EQ(queued(other), WRONG);
    CHECK(is_bytes(r.bytes, r.got) || (r.got == 2 && memcmp(r.bytes, "ol", 2) == 0));
}

#define MUCH (1 << 20)

struct writer {
    ssize_t (*call)(int fd, const char *b);
    int fd;
    ssize_t put;
};

static char much[MUCH];

static ssize_t call_write(int fd, const char *b)
{
    return write(fd, b, MUCH);
}

static ssize_t call_writev(int fd, const char *b)
{
    struct iovec iov[3] = {
        {(char *)b, 1000}, {(char *)b + 1000, 500000}, {(char *)b + 501000, MUCH - 501000}};
    return writev(fd, iov, 3);
}

static ssize_t call_send(int fd, const char *b)
{
    return send(fd, b, MUCH, 0);
}

static ssize_t call_sendmsg(int fd, const char *b)
{
    struct iovec iov[2] = {{(char *)b, 300000}, {(char *)b + 300000, MUCH - 300000}};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
    return sendmsg(fd, &message, 0);
}

static void *writes(void *arg)
{
    struct writer *w = arg;
    w->put = w->call(w->fd, much);
    return NULL;
}

/* The writer has filled the old file, and its number belongs to another; then the old one is
 * read. */
static void goes_on_with_its_file(ssize_t (*call)(int, const char *), bool socket, bool close_it)
{
    static char got[MUCH];
    struct file f, other;
    size_t n = 0;
    stream_open(&other);
    if (socket) {
        stream_open(&f);
    } else {
        pipe_open(&f);
        f = (struct file){f.feed, f.fd};
    }
    for (size_t i = 0; i < MUCH; i++) {
        much[i] = (char)(i * 31 + i / 256);
    }
    struct writer w = {.call = call, .fd = f.fd};
    pthread_t t = start(writes, &w);
    while (queued(f.feed) == 0) {
        sched_yield();
    }
    give_way();
    (close_it ? by_close : by_dup2)(f.fd, other.fd);
    for (ssize_t r = 1; r > 0; n += r > 0 ? (size_t)r : 0) {
        r = read(f.feed, got + n, MUCH - n);
    }
    join(t);
    CHECK(w.put > 0);
    CHECK_EQ(w.put, n);
    OK(memcmp(got, much, n));
    CHECK_EQ(queued(other.feed), 0);
}

CASE(write_goes_on_with_its_file)
{
    goes_on_with_its_file(call_write, false, false);
}

CASE(write_goes_on_with_its_file_when_closed)
{
    goes_on_with_its_file(call_write, false, true);
}

CASE(writev_goes_on_with_its_file)
{
    goes_on_with_its_file(call_writev, false, false);
}

CASE(send_goes_on_with_its_file)
{
    goes_on_with_its_file(call_send, true, false);
}

CASE(sendmsg_goes_on_with_its_file)
{
    goes_on_with_its_file(call_sendmsg, true, true);
}

/* ---- accept, epoll, poll, select ---- */

static int listener(struct sockaddr_un *name, socklen_t *size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    OK(bind(fd, (struct sockaddr *)name, sizeof(sa_family_t))); /* a name of the system's choice */
    *size = sizeof(*name);
    OK(getsockname(fd, (struct sockaddr *)name, size));
    OK(listen(fd, 5));
    return fd;
}

static int connected(const struct sockaddr_un *name, socklen_t size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    OK(connect(fd, (const struct sockaddr *)name, size));
    return fd;
}

static void *accepts(void *arg)
{
    return (void *)(long)accept(*(int *)arg, NULL, NULL);
}

CASE(accept_keeps_its_socket)
{
    bool right = false;
    long ms = 2;
    for (int i = 0; i < TRIES && !right; i++, ms *= 2) {
        struct sockaddr_un name[2];
        socklen_t size[2];
        char b = 0;
        int fd = listener(&name[0], &size[0]), other = listener(&name[1], &size[1]);
        int wrong = connected(&name[1], size[1]);
        pthread_t t = start(accepts, &fd);
        pause_ms(ms);
        CHECK_EQ(dup2(other, fd), fd);
        /* If accept had not begun yet, no thread has the first socket any more. */
        int to = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(to, (const struct sockaddr *)&name[0], size[0]) == 0) {
            CHECK_EQ(write(to, "r", 1), 1);
        }
        CHECK_EQ(write(wrong, "w", 1), 1);
        int got = (int)(long)join(t);
        CHECK(got >= 0);
        CHECK_EQ(read(got, &b, 1), 1);
        right = b == 'r';
    }
    CHECK(right);
}

static ssize_t call_epoll(int fd, char *b, size_t n)
{
    struct epoll_event event;
    (void)n;
    int ready = epoll_wait(fd, &event, 1, LONG_MS);
    memcpy(b, &event.data.u32, sizeof(event.data.u32));
    return ready;
}

static int epoll_of(int fd, uint32_t data)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = data};
    OK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    return epoll;
}

CASE(epoll_wait_keeps_its_file)
{
    static struct reader r;
    uint32_t data = 0;
    long ms = 2;
    for (int i = 0; i < TRIES && data != 1; i++, ms *= 2) {
        struct file f;
        pipe_open(&f);
        r = (struct reader){.call = call_epoll, .fd = epoll_of(f.fd, 1)};
        int wrong = epoll_of(other_file(), 2);
        pthread_t t = start(reads, &r);
        flag_wait(&r.begins, 1);
        pause_ms(ms);
        by_close(r.fd, wrong);
        feed_bytes(&f);
        join(t);
        if (r.got == 1) { /* else it was called between close and dup */
            memcpy(&data, r.bytes, sizeof(data));
        }
    }
    CHECK_EQ(data, 1);
}

static ssize_t call_poll(int fd, char *b, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    (void)n;
    ssize_t ready = poll(&p, 1, LONG_MS);
    b[0] = (char)p.revents;
    return ready;
}

/* A close does not wake it. Data for the file does, and the call then looks at the number. */
CASE(poll_of_a_closed_descriptor_is_pollnval_when_its_file_reports)
{
    static struct reader r;
    struct file f;
    pipe_open(&f);
    signal(SIGPIPE, SIG_IGN);
    r = (struct reader){.call = call_poll, .fd = f.fd};
    pthread_t t = start(reads, &r);
    flag_wait(&r.begins, 1);
    give_way();
    OK(close(f.fd));
    CHECK(write(f.feed, "old\n", 4) != 0); /* it had not begun: EPIPE */
    join(t);
    CHECK_EQ(r.got, 1);
    CHECK_EQ(r.bytes[0], POLLNVAL);
}

/* ---- behaviour that must not change ---- */

CASE(close_of_a_closed_descriptor_is_ebadf)
{
    struct file f;
    pipe_open(&f);
    OK(close(f.fd));
    FAILS(close(f.fd), EBADF);
    FAILS(close(-1), EBADF);
    FAILS(dup2(f.fd, 5), EBADF);
    FAILS(dup2(f.feed, -1), EBADF);
    FAILS(dup3(f.feed, f.feed, 0), EINVAL);
    FAILS(dup2(f.fd, f.fd), EBADF);
    CHECK_EQ(dup2(f.feed, f.feed), f.feed);
    FAILS(close_range(9, 8, 0), EINVAL);
}

/* The file is closed when the call ends: the writer finds that there is no reader. */
CASE(file_is_closed_when_the_blocked_call_ends)
{
    static struct reader r;
    struct file f;
    pipe_open(&f);
    signal(SIGPIPE, SIG_IGN);
    r = (struct reader){.call = call_read, .fd = f.fd};
    pthread_t t = start(reads, &r);
    flag_wait(&r.begins, 1);
    give_way();
    OK(close(f.fd));
    ssize_t put = write(f.feed, "old\n", 4); /* it had not begun: EPIPE */
    join(t);
    CHECK_EQ(r.got, put == 4 ? 4 : -1);
    FAILS(write(f.feed, "x", 1), EPIPE);
}

/* One of feed_bytes' messages, even if a second one is there. */
static ssize_t call_read_message(int fd, char *b, size_t n)
{
    return read(fd, b, n < 4 ? n : 4);
}

/* O_NONBLOCK is read when a call begins. True if both calls ended well. */
static bool readers_stay(long ms)
{
    static struct reader r[2];
    pthread_t t[2];
    struct file f;
    pipe_open(&f);
    for (int i = 0; i < 2; i++) {
        r[i] = (struct reader){.call = call_read_message, .fd = f.fd};
        t[i] = start(reads, &r[i]);
        flag_wait(&r[i].begins, 1);
    }
    pause_ms(ms);
    OK(fcntl(f.fd, F_SETFL, O_NONBLOCK));
    feed_bytes(&f);
    pause_ms(ms); /* one takes it; the other again finds nothing */
    feed_bytes(&f);
    join(t[0]);
    join(t[1]);
    return r[0].got == 4 && r[1].got == 4;
}

CASE(blocked_readers_stay_when_the_file_is_made_nonblocking)
{
    bool right = false;
    long ms = 2;
    for (int i = 0; i < TRIES && !right; i++, ms *= 2) {
        right = readers_stay(ms);
    }
    CHECK(right);
}

/* Closes all descriptors except those that the runtime needs. */
CASE(closefrom_leaves_a_process_that_works)
{
    static struct reader r;
    struct file f;
    pipe_open(&f);
    r = (struct reader){.call = call_read, .fd = f.fd};
    pthread_t t = start(reads, &r);
    flag_wait(&r.begins, 1);
    give_way();
    OK(close_range((unsigned)f.feed + 1, UINT_MAX, 0));
    closefrom(f.feed + 1);
    feed_bytes(&f);
    join(t);
    CHECK(is_bytes(r.bytes, r.got));
    keeps_its_file(call_read, 1);
}
