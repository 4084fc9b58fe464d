/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - barriers and their attributes.
 */
#include <errno.h>

#include "posix.h"

_Static_assert(sizeof(struct rt_barrier) <= sizeof(pthread_barrier_t), "pthread_barrier_t");

#define BARRIER(barrier) ((struct rt_barrier *)(barrier))

int pirn_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
                              unsigned count)
{
    (void)attr;
    return count > INT_MAX ? EINVAL : -rt_barrier_init(BARRIER(barrier), count);
}

int pirn_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    struct rt_barrier *b = BARRIER(barrier);
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&b->queue.lock, RANK_WAITQ);
    bool busy = b->arrived != 0;
    state_unlock(&b->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return busy ? EBUSY : 0;
}

int pirn_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    return rt_barrier_wait(BARRIER(barrier)) ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

int pirn_pthread_barrierattr_init(pthread_barrierattr_t *attr)
{
    *(int *)attr = PTHREAD_PROCESS_PRIVATE;
    return 0;
}

int pirn_pthread_barrierattr_destroy(pthread_barrierattr_t *attr)
{
    (void)attr;
    return 0;
}

int pirn_pthread_barrierattr_setpshared(pthread_barrierattr_t *attr, int shared)
{
    (void)attr;
    return shared == PTHREAD_PROCESS_PRIVATE  ? 0
           : shared == PTHREAD_PROCESS_SHARED ? ENOTSUP
                                              : EINVAL;
}

int pirn_pthread_barrierattr_getpshared(const pthread_barrierattr_t *attr, int *shared)
{
    *shared = *(const int *)attr;
    return 0;
}
