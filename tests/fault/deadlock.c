/* SPDX-License-Identifier: MIT */
/*
 * deadlock.c - programs in which every thread waits: some for ever, some only for a time. External
 * events come after WAIT_MS, which is longer than the runtime waits before it looks for a deadlock.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pirn/pirn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../raw.h"
#include "common/options.h"

#define WAIT_MS 700

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem, ready;

static pthread_t start(const char *name, void *(*fn)(void *))
{
    pthread_t t;
    if (pthread_create(&t, NULL, fn, NULL) != 0 || pthread_setname_np(t, name) != 0) {
        abort();
    }
    return t;
}

/* Exported: the report names it. */
__attribute__((visibility("default"))) void *take_b(void *arg);
void *take_b(void *arg)
{
    pthread_mutex_lock(&a);
    sem_post(&ready);
    sem_wait(&sem);
    pthread_mutex_lock(&b);
    return arg;
}

static void *take_a(void *arg)
{
    pthread_mutex_lock(&b);
    sem_post(&ready);
    sem_wait(&sem);
    pthread_mutex_lock(&a);
    return arg;
}

static void cycle(void)
{
    pthread_t t = start("takes-b", take_b);
    start("takes-a", take_a);
    sem_wait(&ready);
    sem_wait(&ready);
    sem_post(&sem);
    sem_post(&sem);
    pthread_join(t, NULL);
}

static void self(void)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
}

static void *keeps_a(void *arg)
{
    pthread_mutex_lock(&a);
    return arg;
}

static void ended(void)
{
    pthread_join(start("keeps", keeps_a), NULL);
    pthread_mutex_lock(&a);
}

static void *on_cond(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_cond_wait(&cond, &a);
    return arg;
}

static void *on_barrier(void *arg)
{
    pthread_barrier_wait(&barrier);
    return arg;
}

static void *on_rwlock(void *arg)
{
    pthread_rwlock_rdlock(&rwlock);
    return arg;
}

static void all_kinds(void)
{
    pthread_rwlock_wrlock(&rwlock);
    start("cond", on_cond);
    start("barrier", on_barrier);
    start("rwlock", on_rwlock);
    sem_wait(&sem);
}

/* Main has ended as a thread. */
static void main_gone(void)
{
    start("cond", on_cond);
    pthread_exit(NULL);
}

/* ---- not for ever ---- */

static void *sleeps(void *arg)
{
    usleep(WAIT_MS * 1000);
    sem_post(&sem);
    return arg;
}

static void timer(void)
{
    start("sleeps", sleeps);
    sem_wait(&sem);
}

static int ends[2];

static void *reads(void *arg)
{
    char c;
    if (read(ends[0], &c, 1) == 1) {
        sem_post(&sem);
    }
    return arg;
}

/* Another process writes. */
static void descriptor(void)
{
    if (pipe(ends) != 0) {
        abort();
    }
    if (fork() == 0) {
        usleep(WAIT_MS * 1000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    start("reads", reads);
    sem_wait(&sem);
}

static void *waits_child(void *arg)
{
    if (wait(NULL) > 0) {
        sem_post(&sem);
    }
    return arg;
}

static void child(void)
{
    if (fork() == 0) {
        usleep(WAIT_MS * 1000);
        _exit(0);
    }
    start("waits", waits_child);
    sem_wait(&sem);
}

static void on_alarm(int signal)
{
    (void)signal;
    (void)!write(STDOUT_FILENO, "done\n", 5);
    _exit(0);
}

static void handler(void)
{
    struct itimerval t = {.it_value = {.tv_usec = WAIT_MS * 1000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &t, NULL);
    sem_wait(&sem);
}

static int foreign_posts;
static int said[2], shown = -1; /* case quiet: a pipe in place of standard error, and that */

/* Until the report that nothing runs is whole. */
static void await_report(void)
{
    static char text[4096];
    size_t n = 0;
    ssize_t got;
    while (strstr(text, "waits for semaphore") == NULL && n < sizeof(text) - 1 &&
           (got = read(said[0], text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    if (write(shown, text, n) != (ssize_t)n) {
        abort();
    }
}

static void *foreign_main(void *arg)
{
    if (shown >= 0) {
        await_report();
    } else {
        poll(NULL, 0, WAIT_MS);
    }
    if (foreign_posts) {
        sem_post(&sem);
    }
    return arg;
}

/* A kernel thread of the C library's. */
static void foreign(void)
{
    typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *libc = dlopen("libpthread.so.0", RTLD_NOW); /* or what it depends on */
    create_fn create = libc != NULL ? (create_fn)dlsym(libc, "pthread_create") : NULL;
    pthread_t t;
    if (create == NULL || create(&t, NULL, foreign_main, NULL) != 0) {
        abort();
    }
    sem_wait(&sem);
}

static void foreign_ends(void)
{
    foreign();
}

static void quiet(void)
{
    shown = dup(STDERR_FILENO);
    if (pipe(said) != 0 || dup2(said[1], STDERR_FILENO) < 0) {
        abort();
    }
    foreign();
}

static void kill_for_dump(void)
{
    kill(getpid(), SIGQUIT);
}

/* Requests the report itself, by a signal (option dump) or a call, and continues. */
static void dump_by(void (*request)(void))
{
    pthread_t t = start("sleeps", sleeps);
    usleep(50000);
    request();
    sem_wait(&sem);
    pthread_join(t, NULL);
}

static void dump(void)
{
    dump_by(kill_for_dump);
}

static void dump_call(void)
{
    dump_by(pirn_dump);
}

enum { BLOCKED = 8, ATTEMPTS = 3 };

static int gate[2];

/* The runtime does not see the call, so only another carrier can continue with the CPU. */
static void *blocks(void *arg)
{
    char byte;
    sem_post(&ready);
    if (raw_call(SYS_read, gate[0], (long)&byte, 1, 0) != 1) {
        abort();
    }
    return arg;
}

/* True if a copy of this process that writes a report has not ended. */
static bool report_runs(void)
{
    siginfo_t info = {.si_pid = 0};
    int how = WEXITED | WNOHANG | WNOWAIT | (int)__WCLONE;
    return syscall(SYS_waitid, P_ALL, 0, &info, how, NULL) == 0 && info.si_pid == 0;
}

/* A pipe without room. */
static void fill(int full[2])
{
    static const char bytes[4096];
    if (pipe(full) != 0 || fcntl(full[1], F_SETFL, O_NONBLOCK) != 0) {
        abort();
    }
    while (write(full[1], bytes, sizeof(bytes)) > 0) {
    }
    if (fcntl(full[1], F_SETFL, 0) != 0) {
        abort();
    }
}

/* A report begins, and hangs, because no process reads it. */
static void report_begin(int full)
{
    int own = dup(STDERR_FILENO);
    dup2(full, STDERR_FILENO);
    kill(getpid(), SIGQUIT);
    while (!report_runs()) {
        usleep(1000);
    }
    dup2(own, STDERR_FILENO);
    close(own);
}

static void *nothing(void *arg)
{
    return arg;
}

/* More threads than there are spare carriers block in the kernel while a report hangs. True: all of
 * them did so before it ended, and main continued. */
static bool blocks_in_report(unsigned n)
{
    pthread_t t[BLOCKED * ATTEMPTS];
    int full[2];
    fill(full);
    report_begin(full[1]);
    for (unsigned i = 0; i < n; i++) {
        t[i] = start("blocks", blocks);
    }
    for (unsigned i = 0; i < n; i++) {
        sem_wait(&ready);
    }
    usleep(1000);
    bool in_time = report_runs();
    close(full[0]);
    close(full[1]);
    for (unsigned i = 0; i < n; i++) {
        if (write(gate[1], "", 1) != 1) {
            abort();
        }
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
    return in_time;
}

/* A loaded machine may be late once, because the report ends by itself after 10 s. Carriers remain:
 * each attempt needs more of them than the one before. */
static void carriers(void)
{
    bool in_time = false;
    pthread_join(start("first", nothing), NULL); /* the runtime runs, so the signal is the
                                                  * runtime's */
    if (pipe(gate) != 0) {
        abort();
    }
    for (unsigned i = 0; i < ATTEMPTS && !in_time; i++) {
        in_time = blocks_in_report(BLOCKED * (i + 1));
    }
    if (!in_time) {
        fprintf(stderr, "threads wait for the end of a report\n");
        exit(1);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    int posts;
} cases[] = {
    {"cycle", cycle, 0},     {"self", self, 0},
    {"ended", ended, 0},     {"unnamed", self, 0},
    {"all", all_kinds, 0},   {"main-gone", main_gone, 0},
    {"timer", timer, 0},     {"descriptor", descriptor, 0},
    {"child", child, 0},     {"handler", handler, 0},
    {"foreign", foreign, 1}, {"foreign-ends", foreign_ends, 0},
    {"quiet", quiet, 1},     {"dump-call", dump_call, 0},
    {"dump", dump, 0},       {"carriers", carriers, 0},
};

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "Deadlocks, and what looks like them.", cases);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&sem, 0, 0);
    sem_init(&ready, 0, 0);
    if (strcmp(cases[i].name, "unnamed") != 0) {
        pthread_setname_np(pthread_self(), "main");
    }
    foreign_posts = cases[i].posts;
    cases[i].run();
    puts("done");
    return 0;
}
