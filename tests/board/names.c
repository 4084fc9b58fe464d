/* SPDX-License-Identifier: MIT */
/*
 * names.c - a program with functions and variables that have the runtime's internal names. It
 * links, only the program calls its own functions, and threads work. With POSIX threads if
 * NAMES_POSIX is defined.
 */
#include <stdio.h>
#ifdef NAMES_POSIX
#include <pthread.h>
#else
#include <pirn/pirn.h>
#endif

enum { THREADS = 8, ROUNDS = 100 };

static unsigned called;

/* One or more of each layer: core, sched, sync, trace, prof, environment, architecture, device. */
#define OWN(name)                                                                                  \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);                                          \
    }
#define EACH(X)                                                                                    \
    X(cpu_init)                                                                                    \
    X(timer_arm)                                                                                   \
    X(pool_alloc)                                                                                  \
    X(console_read)                                                                                \
    X(list_init)                                                                                   \
    X(waitq_pop_locked)                                                                            \
    X(yield_slow)                                                                                  \
    X(rt_ready)                                                                                    \
    X(rt_mutex_lock_slow)                                                                          \
    X(rt_sem_post)                                                                                 \
    X(steal_init)                                                                                  \
    X(sched_find)                                                                                  \
    X(classq_push)                                                                                 \
    X(trace_start)                                                                                 \
    X(prof_start)                                                                                  \
    X(port_panic)                                                                                  \
    X(bare_main)                                                                                   \
    X(arch_trap)                                                                                   \
    X(trap_entry)                                                                                  \
    X(board_exit)                                                                                  \
    X(omutex_lock)                                                                                 \
    X(posix_local)
EACH(OWN)

/* The runtime's central variable. */
unsigned rt[4] = {1, 2, 3, 4};

#define ADD_ONE(name) +1
#define CALL(name) name();

static unsigned sum;

#ifdef NAMES_POSIX
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *adds(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        sum++;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    return arg;
}

static void run_threads(void)
{
    pthread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, adds, NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
}
#else
static pirn_mutex_t lock = PIRN_MUTEX_INIT;

static void *adds(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_mutex_lock(&lock);
        sum++;
        pirn_mutex_unlock(&lock);
        pirn_yield();
    }
    return arg;
}

static void run_threads(void)
{
    pirn_thread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_create(&t[i], NULL, adds, NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_join(t[i], NULL);
    }
}
#endif

int main(void)
{
    run_threads();
    unsigned by_the_runtime = called;
    EACH(CALL)
    unsigned own = called - by_the_runtime;
    printf("sum %u, called by the runtime %u, own %s, variable %u\n", sum, by_the_runtime,
           own == EACH(ADD_ONE) ? "all" : "not all", rt[0] + rt[1] + rt[2] + rt[3]);
    return 0;
}
