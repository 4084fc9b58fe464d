/* SPDX-License-Identifier: MIT */
/*
 * posix_barrier.c - barriers and their attributes. A barrier with `shared` set is shared between
 * processes: it is a struct rt_shbarrier.
 */
#include <errno.h>

#include "../sync/shared.h"
#include "posix.h"

_Static_assert(offsetof(struct rt_shbarrier, shared) == offsetof(struct rt_barrier, shared), "");

#define BARRIER(barrier) ((struct rt_barrier *)(barrier))
#define SHBARRIER(barrier) ((struct rt_shbarrier *)(barrier))
#define SHARED(barrier) (POSIX_PROCESSES && unlikely(BARRIER(barrier)->shared != 0))

int pirn_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
                              unsigned count)
{
    if (count == 0 || count > INT_MAX) {
        return EINVAL;
    }
    if (POSIX_PROCESSES && attr != NULL && *(const int *)attr == PTHREAD_PROCESS_SHARED) {
        *SHBARRIER(barrier) = (struct rt_shbarrier){.count = count, .shared = POSIX_SHARED_MARK};
        return 0;
    }
    return -rt_barrier_init(BARRIER(barrier), count);
}

int pirn_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    struct rt_barrier *b = BARRIER(barrier);
    unsigned long irq;
    if (SHARED(barrier)) {
        return -rt_shbarrier_destroy(SHBARRIER(barrier));
    }
    rt_enter(&irq);
    state_lock(&b->queue.lock, RANK_WAITQ);
    bool busy = b->arrived != 0;
    state_unlock(&b->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    if (!busy) {
        rt_barrier_settle(b);
    }
    return busy ? EBUSY : 0;
}

int pirn_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    bool serial =
        SHARED(barrier) ? rt_shbarrier_wait(SHBARRIER(barrier)) : rt_barrier_wait(BARRIER(barrier));
    return serial ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
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
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    *(int *)attr = shared;
    return 0;
}

int pirn_pthread_barrierattr_getpshared(const pthread_barrierattr_t *attr, int *shared)
{
    *shared = *(const int *)attr;
    return 0;
}
