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
#include "gdb/waits.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t mains = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inherits;
static sem_t held, both;
static unsigned computed; /* rounds */

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

__attribute__((noinline)) void settled(void);
__attribute__((noinline)) void settled(void)
{
    __asm__ volatile("");
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
