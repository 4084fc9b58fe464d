/* SPDX-License-Identifier: MIT */
/*
 * errno_kept.c - calls that succeed, or return their error, leave errno alone, also if they wait.
 * POSIX does not demand it, but the C library does it, and programs write
 * `pthread_mutex_unlock(&lock); perror("read");`.
 */
#include <poll.h>
#include <semaphore.h>
#include <signal.h>

#include "check.h"

enum { OWN = 555, THREADS = 6, ROUNDS = 40 };

/* The call has this result, and errno is as it was. */
#define KEEPS_AS(expr, want)                                                                       \
    do {                                                                                           \
        set_errno(OWN);                                                                            \
        CHECK_EQ(expr, want);                                                                      \
        if (get_errno() != OWN) {                                                                  \
            check_fail(__FILE__, __LINE__, "errno after " #expr, get_errno(), OWN);                \
        }                                                                                          \
    } while (0)
#define KEEPS(expr) KEEPS_AS(expr, 0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem;
#ifdef BLOCKING_CALLS
static int pipe_ends[2];
#endif
static int turns;

static struct timespec soon(void)
{
    return after_ms(CLOCK_REALTIME, 1);
}

static void locks(void)
{
    struct timespec at = soon();
    KEEPS(pthread_mutex_lock(&mutex));
    KEEPS_AS(pthread_mutex_trylock(&mutex), EBUSY);
    KEEPS_AS(pthread_mutex_timedlock(&mutex, &at), ETIMEDOUT);
    KEEPS_AS(pthread_cond_timedwait(&cond, &mutex, &at), ETIMEDOUT);
    sched_yield();
    KEEPS(pthread_mutex_unlock(&mutex));
    KEEPS(pthread_rwlock_rdlock(&rwlock));
    sched_yield();
    KEEPS(pthread_rwlock_unlock(&rwlock));
    KEEPS(pthread_rwlock_wrlock(&rwlock));
    at = soon();
    KEEPS_AS(pthread_rwlock_timedrdlock(&rwlock, &at), EDEADLK);
    sched_yield();
    KEEPS(pthread_rwlock_unlock(&rwlock));
    KEEPS(pthread_spin_lock(&spin));
    KEEPS_AS(pthread_spin_trylock(&spin), EBUSY);
    KEEPS(pthread_spin_unlock(&spin));
}

static void waits(void)
{
    KEEPS(pthread_mutex_lock(&mutex));
    int mine = turns++;
    while (turns % THREADS != 0 && turns - mine < THREADS) {
        KEEPS(pthread_cond_wait(&cond, &mutex));
    }
    KEEPS(pthread_cond_broadcast(&cond));
    KEEPS(pthread_mutex_unlock(&mutex));
    set_errno(OWN);
    int result = pthread_barrier_wait(&barrier);
    CHECK_EQ(get_errno(), OWN);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* Half of the threads wait for what the other half does. */
static void semaphores(bool first)
{
    struct timespec moment = {0, 1000};
    if (first) {
        KEEPS(sem_wait(&sem));
    } else {
        KEEPS(nanosleep(&moment, NULL));
        KEEPS(usleep(100));
        KEEPS(sem_post(&sem));
    }
    KEEPS(sched_yield());
}

#ifdef BLOCKING_CALLS
static void pipes(bool first)
{
    char byte = 'x';
    struct pollfd p = {.fd = pipe_ends[0], .events = POLLIN};
    if (first) {
        KEEPS_AS(read(pipe_ends[0], &byte, 1), 1);
    } else {
        KEEPS_AS(write(pipe_ends[1], &byte, 1), 1);
    }
    pthread_barrier_wait(&barrier); /* the pipe is empty from here on */
    KEEPS(poll(&p, 1, 1));
}
#endif

static void *nothing(void *arg)
{
    return arg;
}

#ifdef THREAD_SIGNALS
static void signals(void)
{
    sigset_t set, old;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    KEEPS(pthread_sigmask(SIG_BLOCK, &set, &old));
    KEEPS(pthread_kill(pthread_self(), SIGUSR2));
    KEEPS(sigwait(&set, &got));
    KEEPS(pthread_sigmask(SIG_SETMASK, &old, NULL));
}
#endif

static void threads(void)
{
    pthread_t t;
    pthread_attr_t attr;
    pthread_key_t key;
    cpu_set_t cpus;
    int state;
    KEEPS(pthread_create(&t, NULL, nothing, NULL));
    KEEPS(pthread_join(t, NULL));
    KEEPS(pthread_attr_init(&attr));
    KEEPS(pthread_attr_setstacksize(&attr, 1 << 20));
    KEEPS_AS(pthread_attr_setstacksize(&attr, 1), EINVAL);
    KEEPS(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    KEEPS(pthread_create(&t, &attr, nothing, NULL));
    KEEPS(pthread_attr_destroy(&attr));
    KEEPS(pthread_create(&t, NULL, nothing, NULL));
    KEEPS(pthread_detach(t));
    KEEPS(pthread_key_create(&key, NULL));
    KEEPS(pthread_setspecific(key, &key));
    KEEPS(pthread_key_delete(key));
    KEEPS(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
    KEEPS(pthread_setcancelstate(state, NULL));
    KEEPS(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus));
    KEEPS(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus));
    KEEPS(pthread_getattr_np(pthread_self(), &attr));
    KEEPS(pthread_attr_destroy(&attr));
    KEEPS(pthread_setname_np(pthread_self(), "errno"));
}

static void *body(void *arg)
{
    bool first = (size_t)arg % 2 == 0;
    for (int i = 0; i < ROUNDS; i++) {
        locks();
        waits();
        threads();
        semaphores(first);
#ifdef THREAD_SIGNALS
        signals();
#endif
#ifdef BLOCKING_CALLS
        pipes(first);
#endif
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    OK(pthread_spin_init(&spin, 0));
    OK(sem_init(&sem, 0, 0));
#ifdef BLOCKING_CALLS
    OK(pipe(pipe_ends));
#endif
    for (size_t i = 0; i < THREADS; i++) {
        t[i] = start(body, (void *)i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    puts("ok errno_kept");
    return 0;
}
