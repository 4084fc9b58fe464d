/* SPDX-License-Identifier: MIT */
/*
 * disturbed.c - the runtime's own signals reach kernel threads at any moment, and the program does
 * not notice them. No call fails with EINTR, or returns too early, while another process sends such
 * signals to every kernel thread. The program never receives one as its own. The program's handlers
 * run even if no signal can be queued.
 */
#include <dirent.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 150, LIMIT_MS = 20 };

#define RUNTIMES_SIGNAL __SIGRTMIN /* stops calls: port/env/linux */

/* A call that is repeated with its whole limit each time would hardly ever end. */
static const struct timespec some_time = {0, 5000000};

/* True if one is pending. More signals would pile frames on the stack; the runtime sends the next
 * one only when the last has arrived. */
static bool is_pending(int process, int tid)
{
    char path[64], text[2048] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process, tid);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return true;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    const char *at = n > 0 ? strstr(text, "SigPnd:") : NULL;
    fclose(f);
    return at == NULL || (strtoull(at + 7, NULL, 16) & (1ull << (RUNTIMES_SIGNAL - 1))) != 0;
}

static void disturb_all(int process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", process);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        _exit(0);
    }
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        int tid = (int)strtol(task->d_name, NULL, 10);
        if (tid > 0 && !is_pending(process, tid)) {
            syscall(SYS_tgkill, process, tid, RUNTIMES_SIGNAL);
        }
    }
    closedir(tasks);
}

static pid_t disturber(void)
{
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == self) {
            disturb_all(self);
        }
        _exit(0);
    }
    CHECK(child > 0);
    return child;
}

static void waits_for_descriptors(int quiet, int epoll)
{
    struct pollfd p = {quiet, POLLIN, 0};
    struct timeval limit = {0, 200};
    struct timespec fine = {0, 200000};
    struct epoll_event event;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet, &set);
    CHECK_EQ(poll(&p, 1, 0), 0);
    CHECK_EQ(poll(&p, 1, 1), 0);
    CHECK_EQ(ppoll(&p, 1, &fine, NULL), 0);
    CHECK_EQ(select(quiet + 1, &set, NULL, NULL, &limit), 0);
    CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
    CHECK_EQ(epoll_wait(epoll, &event, 1, 1), 0);
}

static void waits_for_time(sem_t *sem)
{
    struct timespec t = {0, 200000}, until = after_ms(CLOCK_REALTIME, 1);
    OK(nanosleep(&t, NULL));
    OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL));
    FAILS(sem_timedwait(sem, &until), ETIMEDOUT);
}

static void waits_in_calls(const int *sockets)
{
    char c;
    FAILS(recv(sockets[0], &c, 1, 0), EAGAIN); /* SO_RCVTIMEO */
    CHECK_EQ(write(sockets[1], "x", 1), 1);
    CHECK_EQ(read(sockets[0], &c, 1), 1);
}

/* Not less than is there, and not before the limit: what a signal has ended would be a part. */
static void waits_for_all(const int *sockets)
{
    char text[3];
    struct iovec parts[2] = {{&text[0], 1}, {&text[1], 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CHECK_EQ(write(sockets[1], "xy", 2), 2);
    struct timespec from = after_ms(CLOCK_MONOTONIC, LIMIT_MS / 2), to;
    CHECK_EQ(recvmsg(sockets[0], &message, MSG_WAITALL), 2); /* SO_RCVTIMEO */
    OK(clock_gettime(CLOCK_MONOTONIC, &to));
    CHECK(to.tv_sec > from.tv_sec || (to.tv_sec == from.tv_sec && to.tv_nsec >= from.tv_nsec));
    CHECK(text[0] == 'x' && text[1] == 'y');
    FAILS(recvmsg(sockets[0], &message, MSG_WAITALL), EAGAIN);
}

/* `private` memory: the thread waits in user space. */
static void waits_for_words(bool private)
{
    int protection = PROT_READ | PROT_WRITE, kind = private ? MAP_PRIVATE : MAP_SHARED;
    uint32_t *word = mmap(NULL, 4096, protection, kind | MAP_ANONYMOUS, -1, 0);
    CHECK(word != MAP_FAILED);
    FAILS(syscall(SYS_futex, word, FUTEX_WAIT, 0, &some_time), ETIMEDOUT);
    OK(munmap(word, 4096));
}

static void waits_with_limits(int semaphores)
{
    struct sembuf down = {0, -1, 0};
    sigset_t none;
    FAILS(semtimedop(semaphores, &down, 1, &some_time), EAGAIN);
    FAILS(syscall(SYS_semtimedop, semaphores, &down, 1, &some_time), EAGAIN);
    waits_for_words(false);
    waits_for_words(true);
    sigemptyset(&none);
    FAILS(sigtimedwait(&none, NULL, &some_time), EAGAIN);
}

/* The limit counts once the first message is there: it ends the wait for the second. */
static void waits_for_messages(const int *sockets)
{
    char text[2];
    struct iovec parts[2] = {{&text[0], 1}, {&text[1], 1}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    struct timespec limit = {30, 0};
    CHECK_EQ(write(sockets[1], "xy", 2), 2);
    CHECK_EQ(recvmmsg(sockets[0], messages, 2, 0, &limit), 2);
    CHECK(limit.tv_sec < 30);
}

static void *waits(void *arg)
{
    int ends[2], sockets[2], slow[2], epoll = epoll_create1(0);
    struct timeval limit = {0, 1000}, long_limit = {0, LIMIT_MS * 1000};
    sem_t sem;
    OK(pipe(ends));
    struct epoll_event event = {.events = EPOLLIN};
    OK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    OK(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, slow));
    OK(setsockopt(slow[0], SOL_SOCKET, SO_RCVTIMEO, &long_limit, sizeof(long_limit)));
    OK(sem_init(&sem, 0, 0));
    int semaphores = semget(IPC_PRIVATE, 1, 0600);
    CHECK(semaphores >= 0);
    for (int i = 0; i < ROUNDS; i++) {
        waits_for_descriptors(ends[0], epoll);
        waits_for_time(&sem);
        waits_in_calls(sockets);
        if (i % 10 == 0) {
            waits_with_limits(semaphores);
            waits_for_messages(sockets);
            waits_for_all(slow);
        }
    }
    OK(semctl(semaphores, 0, IPC_RMID));
    return arg;
}

static void *until_cancelled(void *arg)
{
    pause();
    return arg;
}

/* The first request makes the runtime take the signal. */
static void cancel_one(void)
{
    pthread_t t = start(until_cancelled, NULL);
    OK(pthread_cancel(t));
    CHECK(join(t) == PTHREAD_CANCELED);
}

static void calls_go_on(void)
{
    pthread_t t[THREADS];
    int status;
    cancel_one();
    pid_t child = disturber();
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(waits, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    OK(kill(child, SIGKILL));
    CHECK_EQ(waitpid(child, &status, 0), child);
}

/* The program has no handler for it. */
static bool is_of_runtime(int signal)
{
    struct {
        uintptr_t handler;
        unsigned long rest[3];
    } action;
    CHECK_EQ(syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof(uint64_t)), 0);
    return action.handler != (uintptr_t)SIG_DFL && action.handler != (uintptr_t)SIG_IGN;
}

/* It has reached the kernel thread, which has not taken it yet. */
static void stays_while_asked(int signal)
{
    uint64_t set = UINT64_C(1) << (signal - 1), pending = 0;
    sigset_t seen;
    CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set)), 0);
    CHECK_EQ(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal), 0);
    OK(sigpending(&seen));
    CHECK(sigisemptyset(&seen));
    CHECK_EQ(syscall(SYS_rt_sigpending, &pending, sizeof(pending)), 0);
    CHECK((pending & set) == set);
    CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set)), 0);
}

/* With a function that looks for the program's signals. */
static void none_is_fetched(void)
{
    unsigned n = 0;
    sigset_t some;
    cancel_one();
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &some, NULL)); /* from now on threads have masks of their own */
    for (int signal = __SIGRTMIN; signal < _NSIG; signal++) {
        if (is_of_runtime(signal)) {
            stays_while_asked(signal);
            n++;
        }
    }
    CHECK(n >= 3); /* to stop calls, to end time slices, to find calls that block */
}

static volatile int handled;

static void handles(int signal)
{
    (void)signal;
    handled++;
}

/* The kernel queues no more signals for this user. */
static void handlers_run_without_a_queue(void)
{
    struct rlimit none = {0, 0};
    struct sigaction action = {.sa_handler = handles};
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(sigaction(SIGUSR2, &action, NULL));
    OK(setrlimit(RLIMIT_SIGPENDING, &none));
    OK(pthread_kill(pthread_self(), SIGUSR2));
    CHECK_EQ(handled, 1);
    OK(raise(SIGUSR1)); /* blocked */
    CHECK_EQ(handled, 1);
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &some, NULL));
    CHECK_EQ(handled, 2);
}

int main(void)
{
    RUN(calls_go_on);
    RUN(none_is_fetched);
    RUN(handlers_run_without_a_queue);
    return 0;
}
