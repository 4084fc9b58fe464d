/* SPDX-License-Identifier: MIT */
/* atfork.c - fork handlers, and the permitted actions of a child of a program with threads. */
#include "harness.h"

#include <poll.h>
#include <sys/wait.h>

static char order[16];
static int calls;

static void note(char c)
{
    order[calls++] = c;
}

#define HANDLER(name, c)                                                                           \
    static void name(void)                                                                         \
    {                                                                                              \
        note(c);                                                                                   \
    }
HANDLER(prepare_1, '1')
HANDLER(prepare_2, '2')
HANDLER(parent_1, 'a')
HANDLER(parent_2, 'b')
HANDLER(child_1, 'x')
HANDLER(child_2, 'y')

/* prepare in reverse order, the others in order. */
static void *forks(void *arg)
{
    calls = 0;
    memset(order, 0, sizeof(order));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        _exit(strcmp(order, "21xy") == 0 ? 0 : 1);
    }
    child_ends_well(pid);
    OK(strcmp(order, "21ab"));
    return arg;
}

static void add_handlers(void)
{
    OK(pthread_atfork(prepare_1, parent_1, child_1));
    OK(pthread_atfork(prepare_2, parent_2, child_2));
    OK(pthread_atfork(NULL, NULL, NULL));
}

CASE(handlers_run_in_order)
{
    add_handlers();
    forks(NULL);
}

CASE(handlers_run_in_the_thread_that_forks)
{
    add_handlers();
    in_thread(forks, NULL);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    OK(pthread_mutex_lock(&m));
}

static void unlock(void)
{
    OK(pthread_mutex_unlock(&m));
}

static flag_t stop;

/* Holds it long enough for others to wait. */
static void *uses_the_lock(void *arg)
{
    while (!flag_get(&stop)) {
        lock();
        usleep(2000);
        unlock();
        usleep(500);
    }
    return arg;
}

/* The purpose of handlers: the child finds the lock free, whichever thread held it. */
CASE(handlers_keep_locks_for_the_child)
{
    pthread_t t[3];
    OK(pthread_atfork(lock, unlock, unlock));
    for (int i = 0; i < 3; i++) {
        t[i] = start(uses_the_lock, NULL);
    }
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            OK(pthread_mutex_trylock(&m));
            _exit(0);
        }
        child_ends_well(child);
    }
    flag_set(&stop, 1);
    for (int i = 0; i < 3; i++) {
        join(t[i]);
    }
}

static flag_t ran;

static void *runs_on(void *arg)
{
    while (!flag_get(&stop)) {
        flag_add(&ran, 1);
        sched_yield();
    }
    return arg;
}

/* The child has only the thread that forked. It calls functions that POSIX allows there. */
CASE(child_has_one_thread)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(runs_on, NULL);
    }
    flag_wait(&ran, 4);
    pid_t child = fork();
    if (child == 0) {
        int before = flag_get(&ran);
        poll(NULL, 0, 20);
        _exit(flag_get(&ran) == before ? 0 : 1);
    }
    child_ends_well(child);
    flag_set(&stop, 1);
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

CASE(other_threads_do_not_run_in_the_child)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(runs_on, NULL);
    }
    flag_wait(&ran, 4);
    pid_t child = fork();
    if (child == 0) {
        int before = flag_get(&ran);
        for (int i = 0; i < 100; i++) {
            sched_yield();
        }
        _exit(flag_get(&ran) == before ? 0 : 1);
    }
    child_ends_well(child);
    flag_set(&stop, 1);
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

static void *squares(void *arg)
{
    long n = (long)arg;
    return (void *)(n * n);
}

static void child_uses_threads(void)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++) {
        t[i] = start(squares, (void *)i);
    }
    for (long i = 0; i < 4; i++) {
        CHECK_EQ((long)join(t[i]), i * i);
    }
}

/* Undefined in POSIX after the process had threads; many programs do it, and glibc allows it. */
CASE(child_may_create_threads)
{
    join(start(squares, (void *)2L));
    in_child(child_uses_threads);
}

static void *forks_and_child_uses_threads(void *arg)
{
    in_child(child_uses_threads);
    return arg;
}

CASE(child_of_a_thread_may_create_threads)
{
    in_thread(forks_and_child_uses_threads, NULL);
}

static void *is_self_in_child(void *arg)
{
    pthread_t self = pthread_self();
    pid_t child = fork();
    if (child == 0) {
        _exit(pthread_equal(self, pthread_self()) ? 0 : 1);
    }
    child_ends_well(child);
    return arg;
}

CASE(child_is_the_thread_that_forked)
{
    in_thread(is_self_in_child, NULL);
}

static void *child_exits(void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_exit(NULL); /* the last thread: the process ends */
    }
    child_ends_well(child);
    return arg;
}

CASE(child_ends_when_its_thread_ends)
{
    in_thread(child_exits, NULL);
}

static void *executes(void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    child_ends_well(child);
    return arg;
}

CASE(child_may_execute_a_program)
{
    in_thread(executes, NULL);
}
