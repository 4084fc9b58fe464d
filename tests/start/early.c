/* SPDX-License-Identifier: MIT */
/*
 * early.c - a library whose constructor uses threads, as those of GLib and OpenMP do. EARLY names
 * the calls that it makes; without it there are none. It is unknown whether its constructor runs
 * before that of the threads library: the tests link and preload it in every order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_key_t key;
static pthread_t self;
static sem_t sem;
static int runs;

static void need(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "early: %s: %s\n", what, strerror(error));
        _exit(1);
    }
}

static void run_once(void)
{
    runs++;
}

static void *thread(void *arg)
{
    need(sem_post(&sem) != 0 ? errno : 0, "sem_post");
    return arg;
}

static void on_self(void)
{
    self = pthread_self();
}

/* Held until main has begun: the owner must still be the same thread then. */
static void on_mutex(void)
{
    need(pthread_mutex_lock(&plain), "lock");
    need(pthread_mutex_unlock(&plain), "unlock");
    need(pthread_mutex_lock(&recursive), "lock recursive");
    need(pthread_mutex_lock(&recursive), "lock recursive again");
}

static void on_create(void)
{
    pthread_t t;
    void *ret = NULL;
    need(pthread_create(&t, NULL, thread, &sem), "create");
    need(sem_wait(&sem) != 0 ? errno : 0, "sem_wait");
    need(pthread_join(t, &ret), "join");
    need(ret != &sem, "what the thread returns");
}

static void on_once(void)
{
    need(pthread_once(&once, run_once), "once");
}

static void on_sem(void)
{
    need(sem_post(&sem) != 0 ? errno : 0, "sem_post");
    need(sem_trywait(&sem) != 0 ? errno : 0, "sem_trywait");
}

static void on_key(void)
{
    need(pthread_key_create(&key, NULL), "key_create");
    need(pthread_setspecific(key, &key), "setspecific");
}

static void on_rwlock(void)
{
    need(pthread_rwlock_wrlock(&rwlock), "wrlock");
    need(pthread_rwlock_unlock(&rwlock), "unlock");
    need(pthread_rwlock_rdlock(&rwlock), "rdlock");
    need(pthread_rwlock_unlock(&rwlock), "unlock");
}

static void on_cond(void)
{
    const struct timespec past = {0};
    need(pthread_cond_broadcast(&cond), "broadcast");
    need(pthread_mutex_lock(&plain), "lock");
    need(pthread_cond_timedwait(&cond, &plain, &past) != ETIMEDOUT, "timedwait");
    need(pthread_mutex_unlock(&plain), "unlock");
}

static void on_attr(void)
{
    pthread_attr_t attr;
    size_t size;
    need(pthread_getattr_np(pthread_self(), &attr), "getattr_np");
    need(pthread_attr_getstacksize(&attr, &size), "getstacksize");
    need(pthread_attr_destroy(&attr), "attr_destroy");
}

static void on_yield(void)
{
    need(sched_yield(), "yield");
    usleep(1);
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    {"self", on_self}, {"mutex", on_mutex}, {"create", on_create}, {"once", on_once},
    {"sem", on_sem},   {"key", on_key},     {"rwlock", on_rwlock}, {"cond", on_cond},
    {"attr", on_attr}, {"yield", on_yield},
};

static int asked(const char *name)
{
    const char *list = getenv("EARLY");
    return list != NULL && (strcmp(list, "all") == 0 || strcmp(list, name) == 0);
}

static __attribute__((constructor)) void early(void)
{
    sem_init(&sem, 0, 0);
    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (asked(calls[i].name)) {
            calls[i].call();
        }
    }
}

/* The results of the constructor are still valid. */
int early_holds(void)
{
    if (asked("self")) {
        need(!pthread_equal(self, pthread_self()), "pthread_self is another");
    }
    if (asked("mutex")) {
        need(pthread_mutex_lock(&recursive), "lock recursive in main");
        for (int i = 0; i < 3; i++) {
            need(pthread_mutex_unlock(&recursive), "unlock recursive in main");
        }
        need(pthread_mutex_unlock(&recursive) != EPERM, "a fourth unlock is not refused");
    }
    if (asked("once")) {
        on_once();
        need(runs != 1, "once ran again");
    }
    if (asked("key")) {
        need(pthread_getspecific(key) != &key, "the value of a key is gone");
    }
    return 0;
}
