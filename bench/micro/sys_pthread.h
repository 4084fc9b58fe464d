/* SPDX-License-Identifier: MIT
 *
 * The pthread API: micro-nptl, and micro-pirn-pthread, which is the same object code linked with
 * libpirn-pthread. Only workers_*.c differs: the way to set the number of workers.
 */
#ifndef BENCH_SYS_PTHREAD_H
#define BENCH_SYS_PTHREAD_H

#include "sys.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

typedef pthread_t sys_thread;
typedef pthread_mutex_t sys_mutex;
typedef sem_t sys_sem;
typedef pthread_barrier_t sys_barrier;
typedef pthread_cond_t sys_cond;
typedef pthread_rwlock_t sys_rwlock;

/* workers_affinity.c (NPTL) or workers_env.c (Pirn) */
extern const char *const sys_name;
extern const int sys_fib_n;
const char *sys_lacks(const char *row, unsigned workers);
void sys_prepare(const char *row, unsigned workers);
void sys_place(int index);
int sys_cpu(void);

#define SYS_NAME sys_name
#define FIB_N sys_fib_n
#define SYS_PLACE sys_place
#define SYS_COND
#define SYS_RWLOCK
#define SYS_SLEEP
#define SYS_SOCKETS

static inline void sys_create(sys_thread *thread, void *(*fn)(void *), void *arg)
{
    sys_check(pthread_create(thread, NULL, fn, arg) == 0, "pthread_create");
}

static inline void sys_join(sys_thread *thread)
{
    sys_check(pthread_join(*thread, NULL) == 0, "pthread_join");
}

static inline void sys_yield(void)
{
    sched_yield();
}

static inline void sys_mutex_init(sys_mutex *mutex)
{
    pthread_mutex_init(mutex, NULL);
}

static inline void sys_mutex_lock(sys_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

static inline void sys_mutex_unlock(sys_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

static inline void sys_mutex_fini(sys_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

static inline void sys_sem_init(sys_sem *sem, unsigned value)
{
    sem_init(sem, 0, value);
}

static inline void sys_sem_wait(sys_sem *sem)
{
    while (sem_wait(sem) != 0) {
    }
}

static inline void sys_sem_post(sys_sem *sem)
{
    sem_post(sem);
}

static inline void sys_sem_fini(sys_sem *sem)
{
    sem_destroy(sem);
}

static inline void sys_barrier_init(sys_barrier *barrier, unsigned threads)
{
    pthread_barrier_init(barrier, NULL, threads);
}

static inline void sys_barrier_wait(sys_barrier *barrier)
{
    pthread_barrier_wait(barrier);
}

static inline void sys_barrier_fini(sys_barrier *barrier)
{
    pthread_barrier_destroy(barrier);
}

static inline void sys_cond_init(sys_cond *cond)
{
    pthread_cond_init(cond, NULL);
}

static inline void sys_cond_wait(sys_cond *cond, sys_mutex *mutex)
{
    pthread_cond_wait(cond, mutex);
}

static inline int sys_cond_wait_for(sys_cond *cond, sys_mutex *mutex, uint64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec += (long)(ns % 1000000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

static inline void sys_cond_signal(sys_cond *cond)
{
    pthread_cond_signal(cond);
}

static inline void sys_cond_broadcast(sys_cond *cond)
{
    pthread_cond_broadcast(cond);
}

static inline void sys_cond_fini(sys_cond *cond)
{
    pthread_cond_destroy(cond);
}

static inline void sys_rwlock_init(sys_rwlock *lock)
{
    pthread_rwlock_init(lock, NULL);
}

static inline void sys_rwlock_rdlock(sys_rwlock *lock)
{
    pthread_rwlock_rdlock(lock);
}

static inline void sys_rwlock_wrlock(sys_rwlock *lock)
{
    pthread_rwlock_wrlock(lock);
}

static inline void sys_rwlock_unlock(sys_rwlock *lock)
{
    pthread_rwlock_unlock(lock);
}

static inline void sys_rwlock_fini(sys_rwlock *lock)
{
    pthread_rwlock_destroy(lock);
}

static inline void sys_sleep(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    nanosleep(&time, NULL);
}

static inline void sys_socket_prepare(int fd)
{
    (void)fd;
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
    return read(fd, buffer, size);
}

static inline long sys_write(int fd, void *buffer, size_t size)
{
    return write(fd, buffer, size);
}

static inline void sys_run(void (*body)(void *), void *arg)
{
    body(arg);
}

#endif
