/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_threads.c - threads that actors create: they are cancelled in every kind of wait and in
 * loops, they create others, and a child process has some.
 *
 * A cancelled thread runs its clean-up handler once, in the state that the wait guarantees (a mutex
 * is locked), and ends with PTHREAD_CANCELED. Others can use the objects that it held.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "posix_mix.h"

enum { CHILD_STATUS = 42, CHILD_SECONDS = 600, CHILD_THREADS = 5, HOUR = 3600 };

/* Events that never happen. */
static struct {
    sem_t sem;
    pthread_mutex_t mutex; /* finds errors: the handler must own it */
    pthread_cond_t cond;
    int empty[2], full[2];
} never;

struct victim {
    uint64_t random;
    bool detached;
    bool locked; /* holds never.mutex */
    pthread_once_t once;
    unsigned cleanups, initialized;
};

static unsigned detached_alive; /* (A) */

/* ---- children ---- */

pthread_t child_start(struct actor *a, bool detached, void *(*fn)(void *), void *arg)
{
    pthread_t child;
    pthread_attr_t attr;
    struct sched_param none = {.sched_priority = 0};
    sigset_t all, old;
    OK(pthread_attr_init(&attr));
    /* A child that computes must not be real-time. Without all three calls the C library's
     * inherits. */
    OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
    OK(pthread_attr_setschedparam(&attr, &none));
    OK(pthread_attr_setdetachstate(&attr,
                                   detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE));
    if (mix_random(a, 4) == 0) {
        OK(pthread_attr_setstacksize(&attr, (size_t)(128 + 64 * mix_random(a, 8)) << 10));
    }
    sigfillset(&all);
    OK(pthread_sigmask(SIG_SETMASK, &all, &old));
    OK(pthread_create(&child, &attr, fn, arg));
    OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
    OK(pthread_attr_destroy(&attr));
    return child;
}

void *child_join(struct actor *a, pthread_t child)
{
    void *ret = NULL;
    struct timespec limit;
    int error;
    switch (mix_random(a, 4)) {
    case 0:
        while ((error = pthread_tryjoin_np(child, &ret)) == EBUSY) {
            usleep(50); /* a yield of a real-time thread would not let the child run */
        }
        break;
    case 1:
        do {
            limit = mix_deadline(a, CLOCK_REALTIME);
            error = pthread_timedjoin_np(child, &ret, &limit);
        } while (error == ETIMEDOUT);
        break;
    case 2:
        do {
            limit = mix_deadline(a, CLOCK_MONOTONIC);
            error = pthread_clockjoin_np(child, &ret, CLOCK_MONOTONIC, &limit);
        } while (error == ETIMEDOUT);
        break;
    default:
        error = pthread_join(child, &ret);
        break;
    }
    OK(error);
    return ret;
}

/* ---- waits that end by cancellation ---- */

static void wait_pause(struct victim *v)
{
    (void)v;
    pause();
}

static void wait_sleep(struct victim *v)
{
    (void)v;
    sleep(HOUR);
}

static void wait_nanosleep(struct victim *v)
{
    (void)v;
    struct timespec limit = mix_time_after(CLOCK_MONOTONIC, 0);
    limit.tv_sec += HOUR;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, NULL);
}

static void wait_sem(struct victim *v)
{
    struct timespec limit = mix_time_after(CLOCK_MONOTONIC, 0);
    limit.tv_sec += HOUR;
    if (stress_random(&v->random, 2)) {
        sem_wait(&never.sem);
    } else {
        sem_clockwait(&never.sem, CLOCK_MONOTONIC, &limit);
    }
}

static void wait_cond(struct victim *v)
{
    struct timespec limit = mix_time_after(CLOCK_REALTIME, 0);
    limit.tv_sec += HOUR;
    OK(pthread_mutex_lock(&never.mutex));
    v->locked = true;
    if (stress_random(&v->random, 2)) {
        pthread_cond_wait(&never.cond, &never.mutex);
    } else {
        pthread_cond_timedwait(&never.cond, &never.mutex, &limit);
    }
    v->locked = false;
    OK(pthread_mutex_unlock(&never.mutex));
}

static void wait_read(struct victim *v)
{
    (void)v;
    char byte;
    CHECK(read(never.empty[0], &byte, 1) == -1 && errno == EINTR);
}

static void wait_write(struct victim *v)
{
    (void)v;
    CHECK(write(never.full[1], "", 1) == -1 && errno == EINTR);
}

static void wait_poll(struct victim *v)
{
    struct pollfd fd = {.fd = never.empty[0], .events = POLLIN};
    CHECK(poll(&fd, stress_random(&v->random, 2), -1) == -1 && errno == EINTR);
}

static void wait_select(struct victim *v)
{
    (void)v;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(never.empty[0], &set);
    CHECK(select(never.empty[0] + 1, &set, NULL, NULL, NULL) == -1 && errno == EINTR);
}

static void wait_signal(struct victim *v)
{
    (void)v;
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigwait(&set, &signal);
}

static void wait_testcancel(struct victim *v)
{
    (void)v;
    pthread_testcancel();
    sched_yield();
}

static void *child_pauses(void *arg)
{
    for (;;) {
        pause();
    }
    return arg;
}

/* A join that is cancelled leaves the other thread joinable. */
static void join_ends(void *arg)
{
    void *ret;
    OK(pthread_cancel(*(pthread_t *)arg));
    OK(pthread_join(*(pthread_t *)arg, &ret));
    CHECK(ret == PTHREAD_CANCELED);
}

static void wait_join(struct victim *v)
{
    (void)v;
    pthread_t child;
    OK(pthread_create(&child, NULL, child_pauses, NULL));
    pthread_cleanup_push(join_ends, &child);
    pthread_join(child, NULL);
    pthread_cleanup_pop(0);
}

static void initialize_never(void)
{
    for (;;) {
        pause();
    }
}

/* The next thread that calls pthread_once initialises. */
static void wait_once(struct victim *v)
{
    OK(pthread_once(&v->once, initialize_never));
}

static void (*const waits[])(struct victim *) = {
    wait_pause, wait_sleep,  wait_nanosleep, wait_sem,        wait_cond, wait_read, wait_write,
    wait_poll,  wait_select, wait_signal,    wait_testcancel, wait_join, wait_once,
};

/* ---- victims ---- */

static void victim_cleanup(void *arg)
{
    struct victim *v = arg;
    CHECK_EQ(++v->cleanups, 1);
    if (v->locked) {
        OK(pthread_mutex_unlock(&never.mutex));
    }
    if (v->detached) {
        free(v);
        ADD(&detached_alive, -1u);
    }
}

static void *victim_main(void *arg)
{
    struct victim *v = arg;
    int old;
    pthread_cleanup_push(victim_cleanup, v);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    keys_touch(stress_random(&v->random, 4));
    sched_yield();
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    for (;;) {
        waits[stress_random(&v->random, sizeof(waits) / sizeof(waits[0]))](v);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* Calls only functions in which asynchronous cancellation is safe. */
static void *computing_main(void *arg)
{
    int old;
    pthread_cleanup_push(victim_cleanup, arg);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    for (volatile uint64_t i = 0;; i++) {
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static _Thread_local struct victim *initializing;

static void initialize_now(void)
{
    initializing->initialized++;
}

static void victim_verify(struct victim *v, void *ret)
{
    CHECK(ret == PTHREAD_CANCELED);
    CHECK_EQ(v->cleanups, 1);
    initializing = v;
    OK(pthread_once(&v->once, initialize_now));
    CHECK_EQ(v->initialized, 1);
}

void op_cancel(struct actor *a)
{
    bool async = feature_on(F_ASYNC) && mix_random(a, 6) == 0;
    bool detached = mix_random(a, 3) == 0, at_once = mix_random(a, 2);
    struct victim *v = malloc(sizeof(*v));
    CHECK(v != NULL);
    *v = (struct victim){.random = a->random, .detached = detached, .once = PTHREAD_ONCE_INIT};
    ADD(&detached_alive, (unsigned)detached);
    pthread_t thread = child_start(a, detached && at_once, async ? computing_main : victim_main, v);
    for (uint32_t n = mix_random(a, 4); n != 0; n--) {
        mix_pause(a);
    }
    OK(pthread_cancel(thread));
    if (!detached) {
        mix_doing(a, "joins a cancelled thread");
        victim_verify(v, child_join(a, thread));
        free(v);
    } else if (!at_once) {
        OK(pthread_detach(thread));
    }
}

/* ---- nested creation ---- */

static void *nest_main(void *arg)
{
    uintptr_t depth = (uintptr_t)arg, count = 1;
    pthread_t children[2];
    void *ret;
    keys_touch((unsigned)depth);
    for (unsigned i = 0; depth != 0 && i < 2; i++) {
        OK(pthread_create(&children[i], NULL, nest_main, (void *)(depth - 1)));
    }
    for (unsigned i = 0; depth != 0 && i < 2; i++) {
        OK(pthread_join(children[i], &ret));
        count += (uintptr_t)ret;
    }
    return (void *)count;
}

void op_nest(struct actor *a)
{
    pthread_t child = child_start(a, false, nest_main, (void *)(uintptr_t)3);
    CHECK(child_join(a, child) == (void *)(uintptr_t)15);
}

/* ---- processes ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    unsigned arrived; /* (mutex) */
} forked = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

/* Waits for the others, so none can be joined before all run. */
static void *forked_main(void *arg)
{
    char text[32], *copy;
    usleep(100);
    OK(pthread_mutex_lock(&forked.mutex));
    forked.arrived++;
    OK(pthread_cond_broadcast(&forked.cond));
    while (forked.arrived != CHILD_THREADS) {
        OK(pthread_cond_wait(&forked.cond, &forked.mutex));
    }
    OK(pthread_mutex_unlock(&forked.mutex));
    snprintf(text, sizeof(text), "%p", arg);
    copy = strdup(text);
    CHECK(copy != NULL && strcmp(copy, text) == 0);
    free(copy);
    return arg;
}

/* The alarm is only for a child whose parent the watch has ended. */
static void __attribute__((noreturn)) child_process(void)
{
    pthread_t threads[CHILD_THREADS];
    alarm(CHILD_SECONDS);
    for (uintptr_t i = 0; i < CHILD_THREADS; i++) {
        OK(pthread_create(&threads[i], NULL, forked_main, (void *)(i + 1)));
    }
    for (uintptr_t i = 0; i < CHILD_THREADS; i++) {
        void *ret;
        OK(pthread_join(threads[i], &ret));
        CHECK(ret == (void *)(i + 1));
    }
    _exit(CHILD_STATUS);
}

/* The child has no signals: those sent to an actor count in its own process. */
void op_fork(struct actor *a)
{
    sigset_t all, old;
    int status = 0;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    OK(pthread_sigmask(SIG_SETMASK, &all, &old));
    pid_t child = fork();
    if (child == 0) {
        child_process();
    }
    OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
    CHECK(child > 0 || errno == EAGAIN);
    if (child > 0) {
        mix_doing(a, "waits for a child process");
        while (waitpid(child, &status, 0) == -1) {
            CHECK_EQ(errno, EINTR);
        }
        CHECK_EQ(status, CHILD_STATUS << 8);
    }
}

/* ---- start and end ---- */

void threads_init(void)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutex_init(&never.mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_cond_init(&never.cond, NULL));
    OK(sem_init(&never.sem, 0, 0));
    OK(pipe2(never.empty, O_CLOEXEC));
    OK(pipe2(never.full, O_CLOEXEC));
    OK(fcntl(never.full[1], F_SETFL, O_NONBLOCK));
    static const char page[PIPE_BUF];
    while (write(never.full[1], page, sizeof(page)) > 0) {
    }
    OK(fcntl(never.full[1], F_SETFL, 0));
}

/* Detached threads end by themselves; the watch finds those that do not. */
void threads_verify(void)
{
    while (GET(&detached_alive) != 0) {
        usleep(1000);
    }
    OK(pthread_mutex_trylock(&never.mutex));
    OK(pthread_mutex_unlock(&never.mutex));
}
