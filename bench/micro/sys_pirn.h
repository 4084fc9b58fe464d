/* SPDX-License-Identifier: MIT
 *
 * Pirn's native API: micro-pirn. The number of workers is set by workers_env.c.
 */
#ifndef BENCH_SYS_PIRN_H
#define BENCH_SYS_PIRN_H

#include "sys.h"

#include <pirn/pirn.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

typedef pirn_thread_t sys_thread;
typedef pirn_mutex_t sys_mutex;
typedef pirn_sem_t sys_sem;
typedef pirn_barrier_t sys_barrier;
typedef pirn_cond_t sys_cond;
typedef pirn_rwlock_t sys_rwlock;

/* workers_env.c */
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
    sys_check(pirn_create(thread, NULL, fn, arg) == 0, "pirn_create");
}

static inline void sys_join(sys_thread *thread)
{
    sys_check(pirn_join(*thread, NULL) == 0, "pirn_join");
}

static inline void sys_yield(void)
{
    pirn_yield();
}

static inline void sys_mutex_init(sys_mutex *mutex)
{
    pirn_mutex_init(mutex);
}

static inline void sys_mutex_lock(sys_mutex *mutex)
{
    pirn_mutex_lock(mutex);
}

static inline void sys_mutex_unlock(sys_mutex *mutex)
{
    pirn_mutex_unlock(mutex);
}

static inline void sys_mutex_fini(sys_mutex *mutex)
{
    (void)mutex;
}

static inline void sys_sem_init(sys_sem *sem, unsigned value)
{
    sys_check(pirn_sem_init(sem, value) == 0, "pirn_sem_init");
}

static inline void sys_sem_wait(sys_sem *sem)
{
    pirn_sem_wait(sem);
}

static inline void sys_sem_post(sys_sem *sem)
{
    pirn_sem_post(sem);
}

static inline void sys_sem_fini(sys_sem *sem)
{
    (void)sem;
}

static inline void sys_barrier_init(sys_barrier *barrier, unsigned threads)
{
    sys_check(pirn_barrier_init(barrier, threads) == 0, "pirn_barrier_init");
}

static inline void sys_barrier_wait(sys_barrier *barrier)
{
    pirn_barrier_wait(barrier);
}

static inline void sys_barrier_fini(sys_barrier *barrier)
{
    (void)barrier;
}

static inline void sys_cond_init(sys_cond *cond)
{
    pirn_cond_init(cond);
}

static inline void sys_cond_wait(sys_cond *cond, sys_mutex *mutex)
{
    pirn_cond_wait(cond, mutex);
}

static inline int sys_cond_wait_for(sys_cond *cond, sys_mutex *mutex, uint64_t ns)
{
    return pirn_cond_wait_until(cond, mutex, pirn_now() + ns) == 0;
}

static inline void sys_cond_signal(sys_cond *cond)
{
    pirn_cond_signal(cond);
}

static inline void sys_cond_broadcast(sys_cond *cond)
{
    pirn_cond_broadcast(cond);
}

static inline void sys_cond_fini(sys_cond *cond)
{
    (void)cond;
}

static inline void sys_rwlock_init(sys_rwlock *lock)
{
    pirn_rwlock_init(lock);
}

static inline void sys_rwlock_rdlock(sys_rwlock *lock)
{
    pirn_rwlock_rdlock(lock);
}

static inline void sys_rwlock_wrlock(sys_rwlock *lock)
{
    pirn_rwlock_wrlock(lock);
}

static inline void sys_rwlock_unlock(sys_rwlock *lock)
{
    pirn_rwlock_unlock(lock);
}

static inline void sys_rwlock_fini(sys_rwlock *lock)
{
    (void)lock;
}

static inline void sys_sleep(uint64_t ns)
{
    pirn_sleep(ns);
}

static inline void sys_socket_prepare(int fd)
{
    sys_check(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
}

/* A thread may change its worker in a wait, and with it the address of errno, which compilers do
 * not expect. */
__attribute__((noinline)) static int sys_errno(void)
{
    return errno;
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
    long got = read(fd, buffer, size);

    while (got < 0 && sys_errno() == EAGAIN) {
        pirn_wait_fd(fd, POLLIN, PIRN_FOREVER);
        got = read(fd, buffer, size);
    }
    return got;
}

static inline long sys_write(int fd, void *buffer, size_t size)
{
    long put = write(fd, buffer, size);

    while (put < 0 && sys_errno() == EAGAIN) {
        pirn_wait_fd(fd, POLLOUT, PIRN_FOREVER);
        put = write(fd, buffer, size);
    }
    return put;
}

static inline void sys_run(void (*body)(void *), void *arg)
{
    body(arg);
}

#endif
