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
static int pipe_ends[2];
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

static void calls_that_block(unsigned n)
{
    char byte = 'x';
    struct timespec moment = {0, 1000};
    struct pollfd p = {.fd = pipe_ends[0], .events = POLLIN};
    if (n % 2 == 0) {
        KEEPS_AS(read(pipe_ends[0], &byte, 1), 1);
        KEEPS(sem_wait(&sem));
    } else {
        KEEPS(nanosleep(&moment, NULL));
        KEEPS_AS(write(pipe_ends[1], &byte, 1), 1);
        KEEPS(usleep(100));
        KEEPS(sem_post(&sem));
    }
    CHECK(poll(&p, 1, 0) >= 0);
    KEEPS(sched_yield());
    pthread_barrier_wait(&barrier); /* nobody writes any more */
    KEEPS(poll(&p, 1, 1));
}

static void *nothing(void *arg)
{
    return arg;
}

static void signals(void)
{
#ifdef THREADS_HAVE_SIGNALS
    sigset_t set, old;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    KEEPS(pthread_sigmask(SIG_BLOCK, &set, &old));
    KEEPS(pthread_kill(pthread_self(), SIGUSR2));
    KEEPS(sigwait(&set, &got));
    KEEPS(pthread_sigmask(SIG_SETMASK, &old, NULL));
#endif
}

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
    signals();
    KEEPS(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus));
    KEEPS(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus));
    KEEPS(pthread_getattr_np(pthread_self(), &attr));
    KEEPS(pthread_attr_destroy(&attr));
    KEEPS(pthread_setname_np(pthread_self(), "errno"));
}

static void *body(void *arg)
{
    unsigned n = (unsigned)(size_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        locks();
        waits();
        threads();
        calls_that_block(n);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    OK(pthread_spin_init(&spin, 0));
    OK(sem_init(&sem, 0, 0));
    OK(pipe(pipe_ends));
    for (size_t i = 0; i < THREADS; i++) {
        t[i] = start(body, (void *)i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    puts("ok errno_kept");
    return 0;
}
