/* SPDX-License-Identifier: MIT */
/*
 * cancel_points.c - the functions that must be cancellation points (XSH 2.9.5.2). Each row is tried
 * in two ways: `pending`, the request comes before the call; `blocked`, it comes while the call
 * waits, for those that can wait. The case fails if the call returns.
 */
#include "harness.h"

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

static char buffer[65536];
static struct iovec vector = {buffer, sizeof(buffer)};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
static const struct timespec long_time = {.tv_sec = LONG_MS / 1000};
static int fd = -1, other_fd = -1;
static char path[PATH_MAX];

/* A file of this process, which disappears with it. */
static void file_setup(void)
{
    strcpy(path, "/tmp/pirn-conformance-XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    OK(unlink(path));
    CHECK_EQ(write(fd, buffer, sizeof(buffer)), sizeof(buffer));
}

static void pipe_setup(void)
{
    int ends[2];
    OK(pipe(ends));
    fd = ends[0];
    other_fd = ends[1];
}

static void full_pipe_setup(void)
{
    pipe_setup();
    OK(fcntl(other_fd, F_SETFL, O_NONBLOCK));
    while (write(other_fd, buffer, sizeof(buffer)) > 0) {
    }
    while (write(other_fd, buffer, 1) > 0) {
    }
    OK(fcntl(other_fd, F_SETFL, 0));
    fd = other_fd;
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
    while (send(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
    }
    while (send(fd, buffer, 1, MSG_DONTWAIT) > 0) {
    }
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_size;

static void listen_setup(void)
{
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "pirn-%d", (int)getpid());
    address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    OK(bind(fd, (struct sockaddr *)&address, address_size));
    OK(listen(fd, 0));
}

/* No thread accepts, so a further connection waits. */
static void connect_setup(void)
{
    listen_setup();
    for (;;) {
        int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(s, (struct sockaddr *)&address, address_size) != 0) {
            break;
        }
    }
    other_fd = socket(AF_UNIX, SOCK_STREAM, 0);
}

static void fifo_setup(void)
{
    strcpy(path, "/tmp/pirn-conformance-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    strcat(path, "/fifo");
    OK(mkfifo(path, 0600));
}

static void fifo_end(void)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

static pid_t child;

static void child_setup(void)
{
    child = fork();
    if (child == 0) {
        for (;;) {
            pause(); /* ends with the group of this process */
        }
    }
}

static void child_end(void)
{
    kill(child, SIGKILL);
}

/* Another process holds a lock on the file. */
static void lock_setup(void)
{
    file_setup();
    pipe_setup();
    int locked_pipe = fd;
    strcpy(path, "/tmp/pirn-conformance-XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    child = fork();
    if (child == 0) {
        OK(lockf(fd, F_LOCK, 0));
        CHECK_EQ(write(other_fd, "x", 1), 1);
        for (;;) {
            pause();
        }
    }
    CHECK_EQ(read(locked_pipe, buffer, 1), 1);
    OK(unlink(path));
}

static mqd_t queue;

static void queue_open(bool full)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(path, sizeof(path), "/pirn-conformance-%d", (int)getpid());
    queue = mq_open(path, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
    if (queue == (mqd_t)-1 && get_errno() == ENOSYS) {
        case_unsupported("no message queues (ENOSYS)");
    }
    CHECK(queue != (mqd_t)-1);
    OK(mq_unlink(path));
    if (full) {
        OK(mq_send(queue, "x", 1, 0));
    }
}

static void queue_setup(void)
{
    queue_open(false);
}

static void full_queue_setup(void)
{
    queue_open(true);
}

static int ipc = -1;

/* Runs while the process has one kernel thread. If it is allowed, the queue ends with the
 * process. */
__attribute__((constructor)) static void have_ipc_of_our_own(void)
{
    unshare(CLONE_NEWIPC);
}

static void ipc_setup(void)
{
    ipc = msgget(IPC_PRIVATE, 0600);
    if (ipc < 0 && get_errno() == ENOSYS) {
        case_unsupported("no System V message queues (ENOSYS)");
    }
    CHECK(ipc >= 0);
}

struct letter {
    long type;
    char text[1024];
};

static void full_ipc_setup(void)
{
    static struct letter letter = {.type = 1};
    ipc_setup();
    while (msgsnd(ipc, &letter, sizeof(letter.text), IPC_NOWAIT) == 0) {
    }
}

static void ipc_end(void)
{
    msgctl(ipc, IPC_RMID, NULL);
}

static struct aiocb request;

static void aio_setup(void)
{
    pipe_setup();
    request = (struct aiocb){.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 1};
    OK(aio_read(&request));
}

static void terminal_setup(void)
{
    fd = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(fd >= 0);
    OK(grantpt(fd));
    OK(unlockpt(fd));
    other_fd = open(ptsname(fd), O_RDWR | O_NOCTTY);
    CHECK(other_fd >= 0);
}

static void *memory;

static void memory_setup(void)
{
    file_setup();
    memory = mmap(NULL, sizeof(buffer), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
}

static sem_t semaphore;

static void semaphore_setup(void)
{
    OK(sem_init(&semaphore, 0, 0));
}

static flag_t go;
static pthread_t target;

static void *waits_for_go(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

static void join_setup(void)
{
    target = start(waits_for_go, NULL);
}

static void join_end(void)
{
    flag_set(&go, 1);
    join(target);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void condition_setup(void) {}

static sigset_t signals;

static void signal_setup(void)
{
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &signals, NULL));
}

static struct timespec later(void)
{
    return after_ms(CLOCK_REALTIME, LONG_MS);
}

static int epoll_fd;

static void epoll_setup(void)
{
    pipe_setup();
    struct epoll_event event = {.events = EPOLLIN};
    epoll_fd = epoll_create1(0);
    CHECK(epoll_fd >= 0);
    OK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event));
}

/* The calls. Their results do not matter, because they must not return. */
#define CALL(id, ...)                                                                              \
    static void call_##id(void)                                                                    \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define IGNORE(expr) ((void)!(expr))

static struct timeval long_timeval = {.tv_sec = LONG_MS / 1000};
static const struct aiocb *requests[] = {&request};

CALL(accept, accept(fd, NULL, NULL))
CALL(aio_suspend, aio_suspend(requests, 1, NULL))
CALL(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL))
CALL(close, close(fd))
CALL(connect, IGNORE(connect(other_fd, (struct sockaddr *)&address, address_size)))
CALL(creat, IGNORE(creat(path, 0600)))
CALL(fcntl, struct flock lock = {.l_type = F_WRLCK}; fcntl(fd, F_SETLKW, &lock))
CALL(fdatasync, fdatasync(fd))
CALL(fsync, fsync(fd))
CALL(lockf, IGNORE(lockf(fd, F_LOCK, 0)))
CALL(mq_receive, mq_receive(queue, buffer, 8, NULL))
CALL(mq_send, mq_send(queue, "x", 1, 0))
CALL(mq_timedreceive, struct timespec at = later(); mq_timedreceive(queue, buffer, 8, NULL, &at))
CALL(mq_timedsend, struct timespec at = later(); mq_timedsend(queue, "x", 1, 0, &at))
CALL(msgrcv, static struct letter l; msgrcv(ipc, &l, sizeof(l.text), 0, 0))
CALL(msgsnd, static struct letter l = {.type = 1}; msgsnd(ipc, &l, sizeof(l.text), 0))
CALL(msync, msync(memory, sizeof(buffer), MS_SYNC))
CALL(nanosleep, nanosleep(&long_time, NULL))
CALL(open, IGNORE(open(path, O_RDONLY)))
CALL(openat, IGNORE(openat(AT_FDCWD, path, O_RDONLY)))
CALL(pause, pause())
CALL(poll, struct pollfd p = {fd, POLLIN, 0}; poll(&p, 1, LONG_MS))
CALL(pread, IGNORE(pread(fd, buffer, 1, 0)))
CALL(pselect, fd_set set; FD_ZERO(&set); FD_SET(fd, &set);
     pselect(fd + 1, &set, NULL, NULL, &long_time, NULL))
CALL(pthread_cond_timedwait, struct timespec at = later(); pthread_mutex_lock(&m);
     pthread_cond_timedwait(&c, &m, &at); pthread_mutex_unlock(&m))
CALL(pthread_cond_wait, pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m))
CALL(pthread_join, pthread_join(target, NULL))
CALL(pthread_testcancel, pthread_testcancel())
CALL(pwrite, IGNORE(pwrite(fd, buffer, 1, 0)))
CALL(read, IGNORE(read(fd, buffer, 1)))
CALL(readv, IGNORE(readv(fd, &vector, 1)))
CALL(recv, recv(fd, buffer, 1, 0))
CALL(recvfrom, recvfrom(fd, buffer, 1, 0, NULL, NULL))
CALL(recvmsg, recvmsg(fd, &message, 0))
CALL(select, fd_set set; FD_ZERO(&set); FD_SET(fd, &set);
     select(fd + 1, &set, NULL, NULL, &long_timeval))
CALL(sem_timedwait, struct timespec at = later(); IGNORE(sem_timedwait(&semaphore, &at)))
CALL(sem_wait, IGNORE(sem_wait(&semaphore)))
CALL(send, send(fd, buffer, 1, 0))
CALL(sendmsg, sendmsg(fd, &message, 0))
CALL(sendto, sendto(fd, buffer, 1, 0, NULL, 0))
CALL(sigsuspend, sigset_t none; sigemptyset(&none); sigsuspend(&none))
CALL(sigtimedwait, sigtimedwait(&signals, NULL, &long_time))
CALL(sigwait, int number; sigwait(&signals, &number))
CALL(sigwaitinfo, sigwaitinfo(&signals, NULL))
CALL(sleep, sleep(LONG_MS / 1000))
CALL(tcdrain, tcdrain(other_fd))
CALL(wait, wait(NULL))
CALL(waitid, waitid(P_PID, (id_t)child, NULL, WEXITED))
CALL(waitpid, waitpid(child, NULL, 0))
CALL(write, IGNORE(write(fd, buffer, 1)))
CALL(writev, IGNORE(writev(fd, &vector, 1)))

/* Not in that list, but cancellation points in the C library, and programs rely on it. */
CALL(accept4, accept4(fd, NULL, NULL, SOCK_CLOEXEC))
CALL(epoll_wait, struct epoll_event event; epoll_wait(epoll_fd, &event, 1, LONG_MS))
CALL(ppoll, struct pollfd p = {fd, POLLIN, 0}; ppoll(&p, 1, &long_time, NULL))
CALL(preadv, IGNORE(preadv(fd, &vector, 1, 0)))
CALL(pwritev, IGNORE(pwritev(fd, &vector, 1, 0)))
CALL(preadv2, IGNORE(preadv2(fd, &vector, 1, -1, 0)))
CALL(pwritev2, IGNORE(pwritev2(fd, &vector, 1, -1, 0)))
CALL(pthread_cond_clockwait, struct timespec at = after_ms(CLOCK_MONOTONIC, LONG_MS);
     pthread_mutex_lock(&m); pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at);
     pthread_mutex_unlock(&m))
CALL(pthread_timedjoin_np, struct timespec at = later(); pthread_timedjoin_np(target, NULL, &at))
CALL(pthread_clockjoin_np, struct timespec at = later();
     pthread_clockjoin_np(target, NULL, CLOCK_REALTIME, &at))
CALL(sem_clockwait, struct timespec at = later();
     IGNORE(sem_clockwait(&semaphore, CLOCK_REALTIME, &at)))
CALL(system, IGNORE(system("exec sleep 60")))
CALL(usleep, usleep(LONG_MS * 1000u))

struct point {
    const char *name;
    void (*call)(void);
    void (*setup)(void);
    void (*end)(void);
    bool waits;
};

#define POINT(id, setup, end, waits)                                                               \
    {                                                                                              \
#id, call_##id, setup, end, waits                                                          \
    }

static const struct point points[] = {
    POINT(accept, listen_setup, NULL, true),
    POINT(aio_suspend, aio_setup, NULL, true),
    POINT(clock_nanosleep, NULL, NULL, true),
    POINT(close, pipe_setup, NULL, false),
    POINT(connect, connect_setup, NULL, true),
    POINT(creat, fifo_setup, fifo_end, true),
    POINT(fcntl, lock_setup, child_end, true),
    POINT(fdatasync, file_setup, NULL, false),
    POINT(fsync, file_setup, NULL, false),
    POINT(lockf, lock_setup, child_end, true),
    POINT(mq_receive, queue_setup, NULL, true),
    POINT(mq_send, full_queue_setup, NULL, true),
    POINT(mq_timedreceive, queue_setup, NULL, true),
    POINT(mq_timedsend, full_queue_setup, NULL, true),
    POINT(msgrcv, ipc_setup, ipc_end, true),
    POINT(msgsnd, full_ipc_setup, ipc_end, true),
    POINT(msync, memory_setup, NULL, false),
    POINT(nanosleep, NULL, NULL, true),
    POINT(open, fifo_setup, fifo_end, true),
    POINT(openat, fifo_setup, fifo_end, true),
    POINT(pause, NULL, NULL, true),
    POINT(poll, pipe_setup, NULL, true),
    POINT(pread, file_setup, NULL, false),
    POINT(pselect, pipe_setup, NULL, true),
    POINT(pthread_cond_timedwait, condition_setup, NULL, true),
    POINT(pthread_cond_wait, condition_setup, NULL, true),
    POINT(pthread_join, join_setup, join_end, true),
    POINT(pthread_testcancel, NULL, NULL, false),
    POINT(pwrite, file_setup, NULL, false),
    POINT(read, pipe_setup, NULL, true),
    POINT(readv, pipe_setup, NULL, true),
    POINT(recv, socket_setup, NULL, true),
    POINT(recvfrom, socket_setup, NULL, true),
    POINT(recvmsg, socket_setup, NULL, true),
    POINT(select, pipe_setup, NULL, true),
    POINT(sem_timedwait, semaphore_setup, NULL, true),
    POINT(sem_wait, semaphore_setup, NULL, true),
    POINT(send, full_socket_setup, NULL, true),
    POINT(sendmsg, full_socket_setup, NULL, true),
    POINT(sendto, full_socket_setup, NULL, true),
    POINT(sigsuspend, signal_setup, NULL, true),
    POINT(sigtimedwait, signal_setup, NULL, true),
    POINT(sigwait, signal_setup, NULL, true),
    POINT(sigwaitinfo, signal_setup, NULL, true),
    POINT(sleep, NULL, NULL, true),
    POINT(tcdrain, terminal_setup, NULL, false),
    POINT(wait, child_setup, child_end, true),
    POINT(waitid, child_setup, child_end, true),
    POINT(waitpid, child_setup, child_end, true),
    POINT(write, full_pipe_setup, NULL, true),
    POINT(writev, full_pipe_setup, NULL, true),
    POINT(accept4, listen_setup, NULL, true),
    POINT(epoll_wait, epoll_setup, NULL, true),
    POINT(ppoll, pipe_setup, NULL, true),
    POINT(preadv, file_setup, NULL, false),
    POINT(pwritev, file_setup, NULL, false),
    POINT(preadv2, pipe_setup, NULL, true),
    POINT(pwritev2, full_pipe_setup, NULL, true),
    POINT(pthread_cond_clockwait, condition_setup, NULL, true),
    POINT(pthread_timedjoin_np, join_setup, join_end, true),
    POINT(pthread_clockjoin_np, join_setup, join_end, true),
    POINT(sem_clockwait, semaphore_setup, NULL, true),
    POINT(system, NULL, NULL, true),
    POINT(usleep, NULL, NULL, true),
};

static flag_t about_to_call, returned;

static void *calls(void *arg)
{
    const struct point *p = arg;
    flag_set(&about_to_call, 1);
    p->call();
    flag_set(&returned, 1);
    return NULL;
}

static void *calls_cancelled(void *arg)
{
    OK(pthread_cancel(pthread_self()));
    return calls(arg);
}

static void *tests(void *arg)
{
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return arg;
}

/* Without cancellation the wait would be pointless. */
static void need_cancellation(void)
{
    pthread_t t = start(tests, NULL);
    OK(pthread_cancel(t));
    CHECK(join(t) == PTHREAD_CANCELED);
}

static void finish(const struct point *p, pthread_t t)
{
    void *result = join(t);
    if (p->end != NULL) {
        p->end();
    }
    CHECK_EQ(flag_get(&returned), 0);
    CHECK(result == PTHREAD_CANCELED);
}

static void pending(const void *row)
{
    const struct point *p = row;
    if (p->setup != NULL) {
        p->setup();
    }
    finish(p, start(calls_cancelled, (void *)p));
}

static void blocked(const void *row)
{
    const struct point *p = row;
    if (p->setup != NULL) {
        p->setup();
    }
    need_cancellation();
    pthread_t t = start(calls, (void *)p);
    flag_wait(&about_to_call, 1);
    give_way();
    usleep(2000);
    OK(pthread_cancel(t));
    finish(p, t);
}

static const char *how;

static const char *name_of(const void *row)
{
    char *name = malloc(64);
    snprintf(name, 64, "%s_%s", ((const struct point *)row)->name, how);
    return name;
}

static __attribute__((constructor)) void add(void)
{
    for (const struct point *p = points; p != points + COUNT(points); p++) {
        how = "pending";
        cases_add(pending, p, sizeof(*p), 1, name_of);
        how = "blocked";
        cases_add(blocked, p, sizeof(*p), p->waits ? 1 : 0, name_of);
    }
}
