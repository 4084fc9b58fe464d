/* SPDX-License-Identifier: MIT */
/*
 * A fork while another kernel thread, which this library has not made, starts the runtime: the
 * thread of an allocator, for instance, that the C library's pthread_create has made. The child
 * runs threads of its own. The parent learns of its end by SIGCHLD, in sigsuspend. Each process
 * tries once, so there are many. In most of them the fork comes while the runtime starts.
 * fork_start COUNT
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static flag_t begun, ended;

/* The first call that needs the runtime is the wait. */
static void *starter(void *arg)
{
    struct timespec soon = after_ms(CLOCK_REALTIME, 1);
    (void)arg;
    pthread_mutex_lock(&lock);
    flag_set(&begun, 1);
    while (pthread_cond_timedwait(&never, &lock, &soon) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&lock);
    flag_set(&ended, 1);
    return NULL;
}

static void *nothing(void *arg)
{
    sched_yield();
    return arg;
}

static void ignore(int signal)
{
    (void)signal;
}

/* As timeout(1) does. */
static void await_signalled(pid_t child, const sigset_t *without)
{
    int status;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        sigsuspend(without);
    }
    CHECK_EQ(ended, child);
    CHECK_EQ(status, 0);
}

static void await(pid_t child)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void threads_run(void)
{
    for (long i = 0; i < 3; i++) {
        CHECK_EQ(join(start(nothing, (void *)i)), i);
    }
}

static void one(create_fn create, int delay)
{
    pthread_t t;
    sigset_t blocked, before;
    const struct sigaction action = {.sa_handler = ignore};
    OK(sigaction(SIGCHLD, &action, NULL));
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    OK(sigprocmask(SIG_BLOCK, &blocked, &before));
    OK(create(&t, NULL, starter, NULL));
    while (flag_get(&begun) == 0) {
    }
    for (volatile int i = 0; i < delay; i++) {
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        threads_run();
        _exit(0);
    }
    await_signalled(child, &before);
    threads_run();
    flag_wait(&ended, 1);
    _exit(0);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100;
    void *libc = dlopen("libpthread.so.0", RTLD_LAZY); /* or what it depends on */
    create_fn create = libc != NULL ? (create_fn)dlsym(libc, "pthread_create") : NULL;
    CHECK(create != NULL);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            one(create, i % 50 * 400);
        }
        await(child);
    }
    printf("%d forks while the runtime starts: passed\n", count);
    return 0;
}
