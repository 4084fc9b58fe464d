/* SPDX-License-Identifier: MIT */
/*
 * waits.c - threads in known states under the pthread API, for `pirn ps`, `dump` and `top`
 * (tools/tests/test_live_*.py); the names say which. It says "ready" when all are created; a
 * test waits until each is where it stays (live.py). It ends when its standard input does. "N": so
 * many threads more, that wait. "run": one that runs. "churn": one that creates and joins others
 * all the time. "clock": CPU times of threads are asked for. "descriptors": some that wait for
 * descriptors, each of another kind.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../raw.h"
#include "common/options.h"

pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t sem, taken, go;
static pthread_t sleeper;
static volatile int stop;
static volatile unsigned long spins;

__attribute__((noinline)) static int inner(int depth)
{
    volatile int local = depth;
    if (depth == 0) {
        sem_wait(&sem);
    } else {
        inner(depth - 1);
    }
    return local;
}

static void *on_sem(void *arg)
{
    inner(3);
    return arg;
}

static void *takes_a(void *arg)
{
    pthread_mutex_lock(&lock_a);
    sem_post(&taken);
    sem_wait(&go);
    pthread_mutex_lock(&lock_b);
    return arg;
}

static void *takes_b(void *arg)
{
    pthread_mutex_lock(&lock_b);
    sem_post(&taken);
    sem_wait(&go);
    pthread_mutex_lock(&lock_a);
    return arg;
}

static void *on_mutex(void *arg)
{
    pthread_mutex_lock(&held);
    return arg;
}

static void *on_cond(void *arg)
{
    pthread_mutex_lock(&cond_mutex);
    pthread_cond_wait(&cond, &cond_mutex);
    return arg;
}

static void *on_sleep(void *arg)
{
    sleep(1000);
    return arg;
}

static void *on_join(void *arg)
{
    pthread_join(sleeper, NULL);
    return arg;
}

static void *runs(void *arg)
{
    while (!stop) {
        spins++;
    }
    return arg;
}

static void *ends(void *arg)
{
    return arg;
}

static void *churns(void *arg)
{
    while (!stop) {
        pthread_t t[8];
        for (int i = 0; i < 8; i++) {
            if (pthread_create(&t[i], NULL, ends, NULL) != 0) {
                abort();
            }
        }
        for (int i = 0; i < 8; i++) {
            pthread_join(t[i], NULL);
        }
    }
    return arg;
}

/* Descriptors: each thread reads from one, or accepts at it. */

static void *reads(void *arg)
{
    uint64_t word; /* as an eventfd wants it */
    return read((int)(intptr_t)arg, &word, sizeof(word)) > 0 ? arg : NULL;
}

static void *reads_silently(void *arg)
{
    char c;
    return raw_call(SYS_read, (long)arg, (long)&c, 1, 0) == 1 ? arg : NULL;
}

static void *accepts(void *arg)
{
    return accept((int)(intptr_t)arg, NULL, NULL) >= 0 ? arg : NULL;
}

static void start_at(void *(*fn)(void *), int fd, const char *name)
{
    pthread_t t;
    if (fd < 0 || pthread_create(&t, NULL, fn, (void *)(intptr_t)fd) != 0) {
        abort();
    }
    pthread_setname_np(t, name);
}

static void start_descriptors(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int ends[2], pair[2], silent[2];
    int listener = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    if (pipe(ends) != 0 || pipe(silent) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
        bind(listener, (struct sockaddr *)&at, size) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0 ||
        connect(peer, (struct sockaddr *)&at, size) != 0) {
        abort();
    }
    start_at(reads, accept(listener, NULL, NULL), "on-tcp");
    start_at(accepts, listener, "on-accept");
    start_at(reads, ends[0], "on-pipe");
    start_at(reads, pair[0], "on-unix");
    start_at(reads, eventfd(0, 0), "on-eventfd");
    start_at(reads_silently, silent[0], "on-syscall");
}

static pthread_t start(void *(*fn)(void *), const char *name)
{
    pthread_t t;
    if (pthread_create(&t, NULL, fn, NULL) != 0) {
        abort();
    }
    pthread_setname_np(t, name);
    return t;
}

/* clock, run, churn, descriptors, or so many threads. */
static void start_more(const char *word)
{
    struct timespec used;
    if (strcmp(word, "clock") == 0) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } else if (strcmp(word, "run") == 0) {
        start(runs, "runs");
    } else if (strcmp(word, "churn") == 0) {
        start(churns, "churns");
    } else if (strcmp(word, "descriptors") == 0) {
        start_descriptors();
    } else {
        for (long n = operand_number("clock, run, churn, descriptors, or N", word, 1, 1000000);
             n > 0; n--) {
            start(on_sem, "one-of-many");
        }
    }
}

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "Threads that wait for something each, and more.",
                                     .operand = "[WORD...]"};
    char **words = options_parse(argc, argv, &page);
    sem_init(&sem, 0, 0);
    sem_init(&taken, 0, 0);
    sem_init(&go, 0, 0);
    pthread_mutex_lock(&held);
    start(on_sem, "on-sem");
    start(takes_a, "takes-a");
    start(takes_b, "takes-b");
    sem_wait(&taken);
    sem_wait(&taken);
    sem_post(&go);
    sem_post(&go);
    start(on_mutex, "on-mutex");
    start(on_cond, "on-cond");
    sleeper = start(on_sleep, "on-sleep");
    start(on_join, "on-join");
    for (; *words != NULL; words++) {
        start_more(*words);
    }
    puts("ready");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    stop = 1;
    return 0;
}
