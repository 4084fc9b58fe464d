/* SPDX-License-Identifier: MIT */
/*
 * states.c - threads in known states on a board, which their names describe, for check_gdb.py. When
 * all are in them main calls settled(), where gdb breaks.
 *
 *     states ready      one core, preempted: threads that are ready after an interrupt, after a
 *                       yield, and before they have run
 *     states running    several cores, not preempted: a thread that computes on another core
 */
#include "check_board.h"
#include "common/options.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mains = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inherits;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem, held, both;
static pthread_t sleeper;
static unsigned begun;    /* threads that do only what their names say from now on */
static unsigned computed; /* rounds */

static void name(const char *text)
{
    CHECK(pthread_setname_np(pthread_self(), text) == 0);
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static int inner(int depth, int marker)
{
    volatile int local = marker + depth;
    if (depth == 0) {
        sem_wait(&sem);
    } else {
        inner(depth - 1, marker);
    }
    return local;
}

static void *on_sem(void *arg)
{
    name("on-sem");
    inner(3, 4200);
    return arg;
}

static void *holder_1(void *arg)
{
    name("holder-1");
    pthread_mutex_lock(&m1);
    sem_post(&held);
    sem_wait(&both);
    pthread_mutex_lock(&m2);
    return arg;
}

static void *holder_2(void *arg)
{
    name("holder-2");
    pthread_mutex_lock(&m2);
    sem_post(&held);
    sem_wait(&both);
    pthread_mutex_lock(&m1);
    return arg;
}

static void *on_mutex(void *arg)
{
    name("on-mutex");
    pthread_mutex_lock(&mains);
    return arg;
}

static void *on_inherits(void *arg)
{
    name("on-inherits");
    pthread_mutex_lock(&inherits);
    return arg;
}

static void *on_cond(void *arg)
{
    name("on-cond");
    pthread_mutex_lock(&cond_mutex);
    pthread_cond_wait(&cond, &cond_mutex);
    return arg;
}

static void *on_rwlock(void *arg)
{
    name("on-rwlock");
    pthread_rwlock_rdlock(&rwlock);
    return arg;
}

static void *on_barrier(void *arg)
{
    name("on-barrier");
    pthread_barrier_wait(&barrier);
    return arg;
}

static void *on_sleep(void *arg)
{
    name("on-sleep");
    sleep(100000);
    return arg;
}

static void *on_join(void *arg)
{
    name("on-join");
    pthread_join(sleeper, NULL);
    return arg;
}

__attribute__((noinline)) static void computes_on(unsigned step)
{
    for (;;) {
        __atomic_fetch_add(&computed, step, __ATOMIC_RELAXED);
    }
}

static void *computes(void *arg)
{
    name("computes");
    computes_on(1);
    return arg;
}

static void *yields(void *arg)
{
    name("yields");
    for (;;) {
        sched_yield();
    }
    return arg;
}

static void *never_ran(void *arg)
{
    return arg;
}

__attribute__((noinline)) void settled(void);
__attribute__((noinline)) void settled(void)
{
    __asm__ volatile("");
}

static pthread_t start(void *(*fn)(void *))
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, fn, NULL) == 0);
    return t;
}

/* Until that many threads have begun, and have waited or used up turns since. */
static void settle(unsigned threads)
{
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < threads) {
        sched_yield();
    }
    for (unsigned i = 0; i < 3; i++) {
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    enum { READY, RUNNING };
    static const char *const kinds[] = {"ready", "running"};
    const struct option_page page = {.summary = "Threads in known states.", .operand = "KIND"};
    size_t kind = OPERAND_CHOICE("KIND", options_parse(argc, argv, &page)[0], kinds);
    void *(*const all[])(void *) = {holder_1,    holder_2, on_sem,    on_mutex,
                                    on_inherits, on_cond,  on_rwlock, on_barrier};
    const unsigned n = sizeof(all) / sizeof(all[0]);
    pthread_mutexattr_t attr;
    CHECK(pthread_mutexattr_init(&attr) == 0);
    CHECK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) == 0);
    CHECK(pthread_mutex_init(&inherits, &attr) == 0 && pthread_mutex_lock(&inherits) == 0);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    CHECK(sem_init(&sem, 0, 0) == 0 && sem_init(&held, 0, 0) == 0 && sem_init(&both, 0, 0) == 0);
    CHECK(pthread_mutex_lock(&mains) == 0 && pthread_rwlock_wrlock(&rwlock) == 0);
    for (unsigned i = 0; i < n; i++) {
        start(all[i]);
    }
    sem_wait(&held);
    sem_wait(&held);
    sem_post(&both);
    sem_post(&both);
    sleeper = start(on_sleep);
    start(on_join);
    settle(n + 2);
    start(computes);
    if (kind == READY) {
        start(yields);
        settle(n + 4);
        start(never_ran);
    }
    while (__atomic_load_n(&computed, __ATOMIC_RELAXED) == 0) {
    }
    settled();
    return 0;
}
