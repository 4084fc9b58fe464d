/* SPDX-License-Identifier: MIT */
/*
 * slow_fork.c - a process forks while the runtime sends a signal to one of its kernel threads, and
 * the kernel takes long for that (slow.h). In the child nobody sends: it makes a thread, and
 * executes another program, for which it waits until no signal is on its way.
 */
#include "slow.h"

enum { LATE_MS = 30, SLEEPERS = 3, CHILDREN = 10, SLEEP_NS = 50000000 };

static flag_t stop;

/* Sleeps so that the runtime notices only by a signal (linux_blocked.c), again and again. */
static void *sleeps(void *arg)
{
    struct timespec sleep = {0, SLEEP_NS};
    while (!flag_get(&stop)) {
        raw_call(SYS_nanosleep, (long)&sleep, 0, 0, 0);
        sched_yield();
    }
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void child(void)
{
    char *const command[] = {"true", NULL};
    sigset_t set;
    flag_set(slow_off, 1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    join(start(nothing, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL)); /* from now on exec hands on a mask */
    execv("/bin/true", command);
    _exit(errno);
}

int main(void)
{
    pthread_t sleeper[SLEEPERS];
    slow_begin(SYS_tgkill, LATE_MS);
    for (int i = 0; i < SLEEPERS; i++) {
        sleeper[i] = start(sleeps, NULL);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        flag_wait(slow_asked, 1);
        pid_t pid = fork();
        if (pid == 0) {
            child();
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        flag_set(slow_off, 0);
        CHECK_EQ(status, 0);
    }
    flag_set(&stop, 1);
    for (int i = 0; i < SLEEPERS; i++) {
        join(sleeper[i]);
    }
    slow_end();
    return 0;
}
