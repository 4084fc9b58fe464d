/* SPDX-License-Identifier: MIT */
/*
 * cancel_no_points.c - calls of the system that are no cancellation points return although a
 * request is there, also in a program with signal handlers.
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <unistd.h>

static void ignores(int signal)
{
    (void)signal;
}

/* With a handler, a library's threads take signals, and check for requests, in other ways. */
static void *calls_that_are_no_points(void *arg)
{
    char path[] = "/tmp/pirn-conformance-XXXXXX";
    struct sembuf down = {.sem_num = 0, .sem_op = -1, .sem_flg = IPC_NOWAIT};
    int file = mkstemp(path), to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int set = semget(IPC_PRIVATE, 1, 0600);
    CHECK(file >= 0 && to >= 0);
    CHECK_EQ(write(file, "x", 1), 1);
    OK(pthread_cancel(pthread_self()));
    OK(flock(file, LOCK_SH | LOCK_NB));
    OK(flock(file, LOCK_EX));
    CHECK_EQ(sendfile(to, file, &(off_t){0}, 1), 1);
    if (set >= 0) {
        CHECK(semtimedop(set, &down, 1, &(struct timespec){0}) == -1 && get_errno() == EAGAIN);
        semctl(set, 0, IPC_RMID);
    }
    unlink(path);
    *(int *)arg = 1;
    pthread_testcancel();
    *(int *)arg = 2;
    return NULL;
}

CASE(calls_that_are_no_points_go_on)
{
    int came = 0;
    CHECK(signal(SIGUSR1, ignores) != SIG_ERR);
    pthread_t t = start(calls_that_are_no_points, &came);
    CHECK(join(t) == PTHREAD_CANCELED);
    CHECK_EQ(came, 1);
}
