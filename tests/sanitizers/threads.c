/* SPDX-License-Identifier: MIT */
/*
 * threads.c - for programs built with AddressSanitizer and ThreadSanitizer: correct ones, which get
 * no report, and some with one planted mistake in a thread, each in a function of its name.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "common/options.h"

#define THREADS 20
#define ROUNDS 100
#define MANY 3000
#define OWN_STACK (1024u << 10)

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_key_t key;
static sem_t sem, ready, never;

static int under_mutex, under_sem, under_rwlock, under_spin, by_once, destroyed;
static int before_barrier[THREADS];
static __thread char *of_thread;
static __thread void *volatile sink; /* of each thread: no race */

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    MUST(pthread_create(&t, NULL, fn, arg) == 0);
    return t;
}

static void join(pthread_t t)
{
    MUST(pthread_join(t, NULL) == 0);
}

/* Start threads 0 to n-1 of fn, all at once, and join them. */
static void run(int n, void *(*fn)(void *))
{
    pthread_t t[THREADS];
    for (long i = 0; i < n; i++) {
        t[i] = start(fn, (void *)i);
    }
    for (int i = 0; i < n; i++) {
        join(t[i]);
    }
}

/* ---- correct ---- */

static void initialise(void)
{
    by_once = 1;
    usleep(1000);
}

static void destroy(void *value)
{
    free(value);
    pthread_mutex_lock(&mutex);
    destroyed++;
    pthread_mutex_unlock(&mutex);
}

static void round_of_barrier(int self, int round)
{
    before_barrier[self] = round;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        MUST(before_barrier[i] == round);
    }
    pthread_barrier_wait(&barrier);
}

static void *uses_everything(void *arg)
{
    pthread_once(&once, initialise);
    MUST(by_once == 1);
    MUST(pthread_setspecific(key, malloc(50)) == 0);
    of_thread = strdup("of a thread");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        under_mutex++;
        pthread_mutex_unlock(&mutex);
        sem_wait(&sem);
        under_sem++;
        sem_post(&sem);
        if (i % 5 == 0) {
            pthread_rwlock_wrlock(&rwlock);
            under_rwlock++;
        } else {
            pthread_rwlock_rdlock(&rwlock);
            MUST(under_rwlock > 0);
        }
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        under_spin++;
        pthread_spin_unlock(&spin);
        if (i % 20 == 0) {
            round_of_barrier((int)(long)arg, i);
        } else if (i % 7 == 0) {
            sched_yield();
        }
    }
    MUST(strcmp(of_thread, "of a thread") == 0);
    free(of_thread);
    return NULL;
}

static int turn;

static void *takes_turns(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (turn != (int)(long)arg) {
        pthread_cond_wait(&cond, &mutex);
    }
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *waits_for_ever(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    sem_post(&ready);
    for (;;) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_cleanup_pop(1);
    return unused;
}

static void cancels(void)
{
    void *result;
    pthread_t t = start(waits_for_ever, NULL);
    sem_wait(&ready);
    pthread_mutex_lock(&mutex); /* it waits */
    pthread_mutex_unlock(&mutex);
    MUST(pthread_cancel(t) == 0);
    MUST(pthread_join(t, &result) == 0);
    MUST(result == PTHREAD_CANCELED);
    MUST(pthread_mutex_trylock(&mutex) == 0);
    pthread_mutex_unlock(&mutex);
}

static void *echoes(void *arg)
{
    int fd = *(int *)arg;
    char c;
    while (read(fd, &c, 1) == 1) {
        MUST(write(fd, &c, 1) == 1);
    }
    return NULL;
}

static void blocks_in_calls(void)
{
    int fd[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    pthread_t t = start(echoes, &fd[1]);
    for (char c = 'a'; c <= 'z'; c++) {
        char back;
        MUST(write(fd[0], &c, 1) == 1 && read(fd[0], &back, 1) == 1 && back == c);
    }
    close(fd[0]);
    join(t);
    close(fd[1]);
}

static void times_out(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec -= 1;
    MUST(sem_timedwait(&ready, &at) == -1 && errno == ETIMEDOUT);
}

static void *posts(void *arg)
{
    sem_post(arg);
    return NULL;
}

static void detaches(void)
{
    static char stack[OWN_STACK] __attribute__((aligned(4096)));
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, sizeof(stack));
    MUST(pthread_create(&t, &attr, posts, &ready) == 0);
    join(t);
    pthread_attr_destroy(&attr);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    MUST(pthread_create(&t, &attr, posts, &ready) == 0);
    pthread_attr_destroy(&attr);
    sem_wait(&ready);
    sem_wait(&ready);
}

static void good(void)
{
    sem_init(&sem, 0, 1);
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_key_create(&key, destroy);
    run(THREADS, uses_everything);
    MUST(under_mutex == THREADS * ROUNDS && under_sem == under_mutex && under_spin == under_mutex);
    MUST(destroyed == THREADS);
    run(THREADS, takes_turns);
    cancels();
    blocks_in_calls();
    times_out();
    detaches();
}

static mtx_t plain;
static cnd_t changed;
static int of_c11;

static int counts(void *arg)
{
    mtx_lock(&plain);
    of_c11++;
    cnd_broadcast(&changed);
    mtx_unlock(&plain);
    return (int)(long)arg;
}

static void c11(void)
{
    thrd_t t[THREADS];
    int result;
    mtx_init(&plain, mtx_plain);
    cnd_init(&changed);
    for (long i = 0; i < THREADS; i++) {
        MUST(thrd_create(&t[i], counts, (void *)i) == thrd_success);
    }
    mtx_lock(&plain);
    while (of_c11 != THREADS) {
        cnd_wait(&changed, &plain);
    }
    mtx_unlock(&plain);
    for (int i = 0; i < THREADS; i++) {
        MUST(thrd_join(t[i], &result) == thrd_success && result == i);
    }
    mtx_destroy(&plain);
    cnd_destroy(&changed);
}

static void *counts_once(void *arg)
{
    char *p = malloc(100);
    memset(p, 1, 100);
    sink = p;
    pthread_mutex_lock(&mutex);
    under_mutex++;
    pthread_mutex_unlock(&mutex);
    free(p);
    return arg;
}

/* Twelve creators, some at the same time: stacks are used again. */
static void many(void)
{
    for (int i = 0; i < MANY / THREADS; i++) {
        run(THREADS, counts_once);
    }
    MUST(under_mutex == MANY);
}

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
    (void)signal;
    handled++;
    sem_post(&ready);
}

static void signals(void)
{
    signal(SIGUSR1, on_signal);
    pthread_t t = start(echoes, &(int){-1});
    join(t);
    t = start(waits_for_ever, NULL);
    sem_wait(&ready);
    MUST(pthread_kill(t, SIGUSR1) == 0);
    sem_wait(&ready);
    MUST(kill(getpid(), SIGUSR1) == 0);
    sem_wait(&ready);
    MUST(handled == 2);
    pthread_cancel(t);
    join(t);
}

static void *spins(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE)) {
    }
    return NULL;
}

/* Needs preemption, on one worker. */
static void spinning(void)
{
    int flag = 0;
    pthread_t t = start(spins, &flag);
    for (int i = 0; i < 5; i++) {
        sched_yield();
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    join(t);
}

/* Memory that only a waiting thread's stack, its TLS, or the value of a key refers to is no
 * leak. */
static void *keeps_memory(void *arg)
{
    char *volatile on_stack = malloc(111);
    of_thread = malloc(222);
    pthread_setspecific(key, malloc(333));
    memset(on_stack, 0, 111);
    sem_post(&ready);
    sem_wait(&never);
    free(on_stack);
    return arg;
}

static void keeps(void)
{
    pthread_key_create(&key, free);
    pthread_setspecific(key, malloc(444));
    for (int i = 0; i < 4; i++) {
        pthread_t t = start(keeps_memory, NULL);
        pthread_detach(t);
    }
    for (int i = 0; i < 4; i++) {
        sem_wait(&ready);
    }
}

/* ---- planted ---- */

static void *heap_overflow(void *unused)
{
    volatile char *p = malloc(10);
    sink = (void *)p;
    p[11] = 1;
    return unused;
}

static void *use_after_free(void *unused)
{
    volatile char *p = malloc(10);
    sink = (void *)p;
    free((void *)p);
    p[5] = 1;
    return unused;
}

static void *stack_overflow(void *unused)
{
    volatile char buffer[16];
    volatile int at = 17;
    sink = (void *)buffer;
    buffer[at] = 1;
    return unused;
}

static __attribute__((noinline)) void *address_of_local(void)
{
    volatile int local[4];
    sink = (void *)&local[1];
    local[1] = 1;
    return sink;
}

static void *use_after_return(void *unused)
{
    volatile int *p = address_of_local();
    *p = 2;
    return unused;
}

static void *leaks(void *unused)
{
    sink = malloc(4321);
    sink = NULL;
    return unused;
}

static int shared;

static void *race(void *unused)
{
    shared++;
    return unused;
}

/* If one worker runs both, they come one after the other, and yet nothing orders them. */
static void *race_with_yields(void *unused)
{
    for (int i = 0; i < 5; i++) {
        shared++;
        sched_yield();
    }
    return unused;
}

/* Each takes a mutex, but not the same one. */
static void *race_of_locks(void *arg)
{
    static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
    pthread_mutex_lock(&locks[(long)arg]);
    shared++;
    pthread_mutex_unlock(&locks[(long)arg]);
    return NULL;
}

/* Without threads the runtime never starts. The sanitizer's actions at exit must not start it
 * either. */
static void nothing(void) {}

static const struct {
    const char *name;
    void (*fn)(void);
    void *(*thread)(void *);
    int threads;
} cases[] = {
    {"nothing", nothing, NULL, 0},
    {"good", good, NULL, 0},
    {"c11", c11, NULL, 0},
    {"many", many, NULL, 0},
    {"signals", signals, NULL, 0},
    {"spinning", spinning, NULL, 0},
    {"keeps", keeps, NULL, 0},
    {"heap_overflow", NULL, heap_overflow, 1},
    {"use_after_free", NULL, use_after_free, 1},
    {"stack_overflow", NULL, stack_overflow, 1},
    {"use_after_return", NULL, use_after_return, 1},
    {"leaks", NULL, leaks, 20},
    {"race", NULL, race, 2},
    {"race_with_yields", NULL, race_with_yields, 2},
    {"race_of_locks", NULL, race_of_locks, 2},
};

int main(int argc, char **argv)
{
    size_t i = OPTIONS_CASE(argc, argv, "Planted mistakes, and programs without.", cases);
    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    if (cases[i].fn != NULL) {
        cases[i].fn();
    } else {
        run(cases[i].threads, cases[i].thread);
    }
    puts("done");
    return 0;
}
