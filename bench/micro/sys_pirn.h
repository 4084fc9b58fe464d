/* SPDX-License-Identifier: MIT
 *
 * Pirn's native API: micro-pirn. The number of workers is set by workers_env.c.
 */
#ifndef BENCH_SYS_PIRN_H
#define BENCH_SYS_PIRN_H

#include "sys.h"

#include <pirn/pirn.h>

typedef pirn_thread_t sys_thread;
typedef pirn_mutex_t sys_mutex;
typedef pirn_sem_t sys_sem;
typedef pirn_barrier_t sys_barrier;

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

static inline void sys_run(void (*body)(void *), void *arg)
{
    body(arg);
}

#endif
