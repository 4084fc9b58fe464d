/* SPDX-License-Identifier: MIT */
/* io_poll_errors.c - poll, select and epoll_wait with masks of signals, and their errors. */
#include "harness.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>

static int fd[2];

static int epoll_for(int in_fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = in_fd};
    int e = epoll_create1(EPOLL_CLOEXEC);
    CHECK(e >= 0);
    OK(epoll_ctl(e, EPOLL_CTL_ADD, in_fd, &event));
    return e;
}

/* Masks: the signal is unblocked during the wait, and only then. */
static flag_t handled;

static void counts(int number)
{
    (void)number;
    flag_add(&handled, 1);
}

static void block_signal(sigset_t *before)
{
    struct sigaction action = {.sa_handler = counts};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &set, before));
    OK(raise(SIGUSR1));
    CHECK_EQ(flag_get(&handled), 0);
}

CASE(ppoll_waits_with_the_mask)
{
    sigset_t mask;
    block_signal(&mask);
    FAILS(ppoll(NULL, 0, NULL, &mask), EINTR);
    CHECK_EQ(flag_get(&handled), 1);
    OK(raise(SIGUSR1)); /* blocked again */
    CHECK_EQ(flag_get(&handled), 1);
}

CASE(pselect_waits_with_the_mask)
{
    sigset_t mask;
    block_signal(&mask);
    FAILS(pselect(0, NULL, NULL, NULL, NULL, &mask), EINTR);
    CHECK_EQ(flag_get(&handled), 1);
}

CASE(epoll_pwait_waits_with_the_mask)
{
    struct epoll_event event;
    sigset_t mask;
    block_signal(&mask);
    OK(pipe(fd));
    FAILS(epoll_pwait(epoll_for(fd[0]), &event, 1, -1, &mask), EINTR);
    CHECK_EQ(flag_get(&handled), 1);
}

/* Errors. */

CASE(select_is_ebadf_for_no_descriptor)
{
    fd_set set;
    int closed = dup(STDIN_FILENO);
    OK(close(closed));
    FD_ZERO(&set);
    FD_SET(closed, &set);
    FAILS(select(closed + 1, &set, NULL, NULL, NULL), EBADF);
    FD_ZERO(&set);
    FD_SET(closed, &set);
    FAILS(pselect(closed + 1, NULL, &set, NULL, NULL, NULL), EBADF);
}

CASE(select_is_einval_for_bad_arguments)
{
    struct timeval negative = {.tv_sec = -1}, micro = {.tv_usec = -1};
    struct timespec nano = {.tv_nsec = NS_PER_S};
    FAILS(select(-1, NULL, NULL, NULL, NULL), EINVAL);
    FAILS(select(0, NULL, NULL, NULL, &negative), EINVAL);
    FAILS(select(0, NULL, NULL, NULL, &micro), EINVAL);
    FAILS(pselect(-1, NULL, NULL, NULL, NULL, NULL), EINVAL);
    FAILS(pselect(0, NULL, NULL, NULL, &nano, NULL), EINVAL);
}

CASE(poll_is_einval_for_bad_arguments)
{
    static struct pollfd many[65];
    struct pollfd p = {-1, 0, 0};
    struct timespec nano = {.tv_nsec = NS_PER_S}, negative = {.tv_sec = -1};
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = 64;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    FAILS(poll(many, COUNT(many), 0), EINVAL); /* more than there can be open */
    FAILS(ppoll(&p, 1, &nano, NULL), EINVAL);
    FAILS(ppoll(&p, 1, &negative, NULL), EINVAL);
}

CASE(waits_are_efault_for_memory_that_is_not_there)
{
    NOT_SANITIZED("it looks at the memory first");
    void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(pipe(fd));
    FAILS(poll(nowhere, 1, -1), EFAULT);
    FAILS(select(1, nowhere, NULL, NULL, NULL), EFAULT);
    int e = epoll_for(fd[0]);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    FAILS(epoll_wait(e, nowhere, 1, -1), EFAULT);
}

CASE(epoll_wait_is_an_error_for_bad_arguments)
{
    struct epoll_event event;
    OK(pipe(fd));
    int e = epoll_for(fd[0]);
    FAILS(epoll_wait(e, &event, 0, -1), EINVAL);
    FAILS(epoll_wait(fd[0], &event, 1, -1), EINVAL);
    FAILS(epoll_wait(-1, &event, 1, -1), EBADF);
}
