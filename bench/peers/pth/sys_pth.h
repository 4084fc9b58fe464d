/* SPDX-License-Identifier: MIT
 *
 * GNU Pth: micro-pth. One worker only. Pth has no semaphore; ours is a mutex and a condition
 * variable, as its manual recommends.
 */
#ifndef BENCH_SYS_PTH_H
#define BENCH_SYS_PTH_H

#include "sys.h"

#include <pth.h>

typedef pth_t sys_thread;
typedef pth_mutex_t sys_mutex;
typedef pth_barrier_t sys_barrier;

typedef struct {
    pth_mutex_t mutex;
    pth_cond_t nonzero;
    unsigned value;
} sys_sem;

#define SYS_NAME "pth"
#define FIB_N 12 /* 232 spawns: the cost of one grows with the number of threads */

static inline const char *sys_lacks(const char *row, unsigned workers)
{
    if (strcmp(row, "malloc") == 0)
        return "one worker, so nothing shares malloc";
    if (strcmp(row, "memory") == 0 || strcmp(row, "create_bench") == 0)
        return "over 20 s a sample: its queues are searched thread by thread";
    return workers > 1 ? "GNU Pth has one worker" : NULL;
}

static inline void sys_prepare(const char *row, unsigned workers)
{
    (void)row;
    (void)workers;
}

static inline void sys_create(sys_thread *thread, void *(*fn)(void *), void *arg)
{
    *thread = pth_spawn(PTH_ATTR_DEFAULT, fn, arg);
    sys_check(*thread != NULL, "pth_spawn");
}

static inline void sys_join(sys_thread *thread)
{
    sys_check(pth_join(*thread, NULL), "pth_join");
}

static inline void sys_yield(void)
{
    pth_yield(NULL);
}

static inline void sys_mutex_init(sys_mutex *mutex)
{
    pth_mutex_init(mutex);
}

static inline void sys_mutex_lock(sys_mutex *mutex)
{
    pth_mutex_acquire(mutex, FALSE, NULL);
}

static inline void sys_mutex_unlock(sys_mutex *mutex)
{
    pth_mutex_release(mutex);
}

static inline void sys_mutex_fini(sys_mutex *mutex)
{
    (void)mutex;
}

static inline void sys_sem_init(sys_sem *sem, unsigned value)
{
    pth_mutex_init(&sem->mutex);
    pth_cond_init(&sem->nonzero);
    sem->value = value;
}

static inline void sys_sem_wait(sys_sem *sem)
{
    pth_mutex_acquire(&sem->mutex, FALSE, NULL);
    while (sem->value == 0)
        pth_cond_await(&sem->nonzero, &sem->mutex, NULL);
    sem->value--;
    pth_mutex_release(&sem->mutex);
}

static inline void sys_sem_post(sys_sem *sem)
{
    pth_mutex_acquire(&sem->mutex, FALSE, NULL);
    sem->value++;
    pth_cond_notify(&sem->nonzero, FALSE);
    pth_mutex_release(&sem->mutex);
}

static inline void sys_sem_fini(sys_sem *sem)
{
    (void)sem;
}

static inline void sys_barrier_init(sys_barrier *barrier, unsigned threads)
{
    pth_barrier_init(barrier, (int)threads);
}

static inline void sys_barrier_wait(sys_barrier *barrier)
{
    pth_barrier_reach(barrier);
}

static inline void sys_barrier_fini(sys_barrier *barrier)
{
    (void)barrier;
}

static inline void sys_run(void (*body)(void *), void *arg)
{
    sys_check(pth_init(), "pth_init");
    body(arg);
}

#endif
