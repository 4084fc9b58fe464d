/* SPDX-License-Identifier: MIT */
/*
 * eintr_never.c - signals do not end calls that do not wait, whenever they come: a row for each
 * call. A signal is sent, again and again, when the thread announces that it is about to call, so
 * that many come just before the call, in it, and after it. The handler is without SA_RESTART.
 *
 * Not here: sendfile, which Linux ends before it has begun.
 */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { CALLS = 3000, SIZE = 4096, SPINS = 512, YIELD_AFTER = 2000 };

static flag_t handled;
static int turn; /* atomic: calls that have been announced; -1: no more */
static int fd[2];
static char bytes[SIZE];
static char path[64];

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static int turn_get(void)
{
    return __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
}

static void turn_set(int value)
{
    __atomic_store_n(&turn, value, __ATOMIC_RELEASE);
}

/* One signal for each turn, after a different delay each time. */
static void *sends_signals(void *victim)
{
    unsigned random = 1;
    int seen = 0, now;
    for (unsigned round = 0; (now = turn_get()) >= 0; round++) {
        if (now == seen) {
            if (round % YIELD_AFTER == YIELD_AFTER - 1) {
                sched_yield();
            }
            continue;
        }
        seen = now;
        random = random * 1103515245u + 12345u;
        for (unsigned volatile i = (random >> 16) % SPINS; i != 0; i--) {
        }
        OK(pthread_kill(*(pthread_t *)victim, SIGUSR1));
    }
    return NULL;
}

/* ---- objects of the calls ---- */

static void file_setup(void)
{
    snprintf(path, sizeof(path), "/tmp/pirn-eintr-never-%d", (int)getpid());
    fd[0] = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd[0] >= 0);
    OK(unlink(path));
    CHECK_EQ(pwrite(fd[0], bytes, SIZE, 0), SIZE);
}

static void memory_file_setup(void)
{
    fd[0] = memfd_create("never", MFD_CLOEXEC);
    CHECK(fd[0] >= 0);
    CHECK_EQ(pwrite(fd[0], bytes, SIZE, 0), SIZE);
}

static void name_setup(void)
{
    snprintf(path, sizeof(path), "/proc/self/exe");
}

static void null_setup(void)
{
    snprintf(path, sizeof(path), "/dev/null");
    fd[0] = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd[0] >= 0);
}

static void zero_setup(void)
{
    snprintf(path, sizeof(path), "/dev/zero");
    fd[0] = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd[0] >= 0);
}

static void pipe_setup(void)
{
    OK(pipe(fd));
}

static void socket_setup(void)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
}

static int epoll_fd;

static void epoll_setup(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    pipe_setup();
    CHECK_EQ(write(fd[1], "x", 1), 1);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll_fd >= 0);
    OK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd[0], &event));
}

static void ready_pipe_setup(void)
{
    pipe_setup();
    CHECK_EQ(write(fd[1], "x", 1), 1);
}

static void eventfd_setup(void)
{
    fd[0] = eventfd(0, EFD_CLOEXEC);
    CHECK(fd[0] >= 0);
}

static sem_t semaphore;

static void semaphore_setup(void)
{
    OK(sem_init(&semaphore, 0, 0));
}

static int ipc;

static void message_setup(void)
{
    ipc = msgget(IPC_PRIVATE, 0600);
    CHECK(ipc >= 0);
}

static void message_end(void)
{
    OK(msgctl(ipc, IPC_RMID, NULL));
}

static void ipc_semaphore_setup(void)
{
    ipc = semget(IPC_PRIVATE, 1, 0600);
    CHECK(ipc >= 0);
}

static void ipc_semaphore_end(void)
{
    OK(semctl(ipc, 0, IPC_RMID));
}

static mqd_t queue;

static void queue_setup(void)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(path, sizeof(path), "/pirn-eintr-never-%d", (int)getpid());
    queue = mq_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr);
    CHECK(queue != (mqd_t)-1);
    OK(mq_unlink(path));
}

/* ---- the calls: true if the result is the same as without signals ---- */

static struct iovec both[2] = {{bytes, SIZE / 2}, {bytes + SIZE / 2, SIZE / 2}};

static bool reads(void)
{
    return lseek(fd[0], 0, SEEK_SET) == 0 && read(fd[0], bytes, SIZE) == SIZE;
}
static bool writes(void)
{
    return lseek(fd[0], 0, SEEK_SET) == 0 && write(fd[0], bytes, SIZE) == SIZE;
}
static bool readvs(void)
{
    return lseek(fd[0], 0, SEEK_SET) == 0 && readv(fd[0], both, 2) == SIZE;
}
static bool writevs(void)
{
    return lseek(fd[0], 0, SEEK_SET) == 0 && writev(fd[0], both, 2) == SIZE;
}
static bool preads(void)
{
    return pread(fd[0], bytes, SIZE, 0) == SIZE;
}
static bool pwrites(void)
{
    return pwrite(fd[0], bytes, SIZE, 0) == SIZE;
}
static bool preadvs(void)
{
    return preadv(fd[0], both, 2, 0) == SIZE;
}
static bool pwritevs(void)
{
    return pwritev(fd[0], both, 2, 0) == SIZE;
}
static bool preadv2s(void)
{
    return preadv2(fd[0], both, 2, 0, 0) == SIZE;
}
static bool pwritev2s(void)
{
    return pwritev2(fd[0], both, 2, 0, 0) == SIZE;
}
static bool fsyncs(void)
{
    return fsync(fd[0]) == 0;
}
static bool fdatasyncs(void)
{
    return fdatasync(fd[0]) == 0;
}
static bool msyncs(void)
{
    return msync(NULL, 0, MS_SYNC) == 0;
}
static bool opened(int f)
{
    return f >= 0 && close(f) == 0;
}
static bool opens(void)
{
    return opened(open(path, O_RDONLY | O_CLOEXEC));
}
static bool openats(void)
{
    return opened(openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}
static bool creats(void)
{
    return opened(creat(path, 0600));
}
static bool locks(void)
{
    return flock(fd[0], LOCK_EX) == 0 && flock(fd[0], LOCK_UN) == 0;
}
static bool locks_part(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd[0], F_SETLKW, &lock) == 0;
}
static bool passes_bytes(void)
{
    return write(fd[1], bytes, 100) == 100 && read(fd[0], bytes, SIZE) == 100;
}
static bool splices(void)
{
    static int from = -1;
    loff_t at = 0;
    if (from < 0) {
        from = memfd_create("from", MFD_CLOEXEC);
        CHECK_EQ(pwrite(from, bytes, SIZE, 0), SIZE);
    }
    return splice(from, &at, fd[1], NULL, 100, 0) == 100 && read(fd[0], bytes, SIZE) == 100;
}
static bool passes_messages(void)
{
    return send(fd[1], bytes, 100, 0) == 100 && recv(fd[0], bytes, SIZE, 0) == 100;
}
static bool passes_headers(void)
{
    struct msghdr header = {.msg_iov = both, .msg_iovlen = 1};
    return sendmsg(fd[1], &header, 0) == SIZE / 2 && recvmsg(fd[0], &header, 0) == SIZE / 2;
}
static bool polls(void)
{
    struct pollfd p = {fd[0], POLLIN, 0};
    return poll(&p, 1, LONG_MS) == 1;
}
static bool selects(void)
{
    struct timeval time = {.tv_sec = LONG_MS / 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    return select(fd[0] + 1, &set, NULL, NULL, &time) == 1;
}
static bool epolls(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, LONG_MS) == 1;
}
static bool counts_events(void)
{
    eventfd_t value;
    return eventfd_write(fd[0], 3) == 0 && eventfd_read(fd[0], &value) == 0 && value == 3;
}
static bool posts_and_waits(void)
{
    return sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0;
}
static bool sends_and_receives(void)
{
    struct {
        long type;
        char text[8];
    } message = {1, "text"};
    return msgsnd(ipc, &message, sizeof(message.text), 0) == 0 &&
           msgrcv(ipc, &message, sizeof(message.text), 0, 0) == sizeof(message.text);
}
static bool ups_and_downs(void)
{
    struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
    return semop(ipc, &up, 1) == 0 && semop(ipc, &down, 1) == 0;
}
static bool queues(void)
{
    char text[8];
    return mq_send(queue, "text", 5, 0) == 0 && mq_receive(queue, text, sizeof(text), NULL) == 5;
}
static bool uses_a_stream(void)
{
    char line[64];
    FILE *f = fopen("/proc/self/comm", "re");
    bool good = f != NULL && fgets(line, sizeof(line), f) != NULL;
    return f != NULL && fclose(f) == 0 && good;
}
static bool reads_a_directory(void)
{
    DIR *d = opendir("/");
    return d != NULL && readdir(d) != NULL && closedir(d) == 0;
}

static const struct call {
    const char *name;
    void (*setup)(void);
    bool (*call)(void);
    void (*end)(void); /* or NULL */
} calls[] = {
    {"read_of_a_file", file_setup, reads, NULL},
    {"read_of_memory", memory_file_setup, reads, NULL},
    {"write_of_a_file", file_setup, writes, NULL},
    {"write_of_memory", memory_file_setup, writes, NULL},
    {"readv_of_a_file", file_setup, readvs, NULL},
    {"writev_of_a_file", file_setup, writevs, NULL},
    {"pread", file_setup, preads, NULL},
    {"pwrite", file_setup, pwrites, NULL},
    {"preadv", file_setup, preadvs, NULL},
    {"pwritev", file_setup, pwritevs, NULL},
    {"preadv2", file_setup, preadv2s, NULL},
    {"pwritev2", file_setup, pwritev2s, NULL},
    {"fsync", memory_file_setup, fsyncs, NULL},
    {"fdatasync", memory_file_setup, fdatasyncs, NULL},
    {"msync", file_setup, msyncs, NULL},
    {"open_of_a_file", name_setup, opens, NULL},
    {"openat_of_a_file", name_setup, openats, NULL},
    {"open_of_a_device", null_setup, opens, NULL},
    {"openat_of_a_device", zero_setup, openats, NULL},
    {"creat_of_a_device", null_setup, creats, NULL},
    {"write_of_a_device", null_setup, writes, NULL},
    {"read_of_a_device", zero_setup, reads, NULL},
    {"flock_of_a_free_file", file_setup, locks, NULL},
    {"fcntl_of_a_free_lock", file_setup, locks_part, NULL},
    {"pipe_with_room_and_bytes", pipe_setup, passes_bytes, NULL},
    {"splice_to_a_pipe_with_room", pipe_setup, splices, NULL},
    {"socket_with_room_and_bytes", socket_setup, passes_messages, NULL},
    {"messages_of_a_socket", socket_setup, passes_headers, NULL},
    {"poll_of_a_ready_pipe", ready_pipe_setup, polls, NULL},
    {"select_of_a_ready_pipe", ready_pipe_setup, selects, NULL},
    {"epoll_wait_of_a_ready_pipe", epoll_setup, epolls, NULL},
    {"eventfd_that_is_ready", eventfd_setup, counts_events, NULL},
    {"sem_wait_of_a_unit", semaphore_setup, posts_and_waits, NULL},
    {"message_queue_with_room", message_setup, sends_and_receives, message_end},
    {"semop_of_a_unit", ipc_semaphore_setup, ups_and_downs, ipc_semaphore_end},
    {"mq_with_room", queue_setup, queues, NULL},
    {"stream", NULL, uses_a_stream, NULL},
    {"directory", NULL, reads_a_directory, NULL},
};

static void is_not_ended(const void *row)
{
    const struct call *c = row;
    struct sigaction action = {.sa_handler = counts};
    pthread_t self = pthread_self();
    int bad = 0, error = 0;
    OK(sigaction(SIGUSR1, &action, NULL));
    if (c->setup != NULL) {
        c->setup();
    }
    pthread_t sender = start(sends_signals, &self);
    for (int i = 1; bad == 0 && (i <= CALLS || flag_get(&handled) == 0); i++) {
        turn_set(i);
        if (i % 64 == 0 || i > CALLS) {
            sched_yield(); /* the sender may need this CPU */
        }
        if (!c->call()) {
            bad = i;
            error = get_errno();
        }
    }
    turn_set(-1);
    join(sender);
    if (c->end != NULL) {
        c->end();
    }
    CHECK_EQ(error, 0);
    CHECK_EQ(bad, 0);
}

static const char *name_of(const void *row)
{
    char *name = malloc(96);
    snprintf(name, 96, "%s_is_not_ended_by_signals", ((const struct call *)row)->name);
    return name;
}

static __attribute__((constructor)) void add(void)
{
    cases_add(is_not_ended, calls, sizeof(*calls), COUNT(calls), name_of);
}
