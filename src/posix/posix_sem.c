/* SPDX-License-Identifier: MIT */
/*
 * posix_sem.c - unnamed semaphores. A semaphore with `shared` set is shared between processes: a
 * struct rt_shsem. Named semaphores (posix_sem_named.c) are of this kind.
 */
#include <errno.h>

#include "posix_platform.h"
#include "posix_sem.h"
#include "runtime.h"

_Static_assert(offsetof(struct rt_shsem, shared) == offsetof(struct rt_sem, shared), "shared");

#define SHARED(sem) (POSIX_PROCESSES && unlikely(SEM(sem)->shared != 0))

ALWAYS_INLINE int sem_result(int error)
{
    return likely(error == 0) ? 0 : posix_fail(-error);
}

ALWAYS_INLINE int wait_result(int error)
{
    if (unlikely(error == -ECANCELED)) {
        posix_point();
    }
    return sem_result(error);
}

int pirn_posix_sem_init(sem_t *sem, int shared, unsigned value)
{
    if (value > SEM_VALUE_MAX) {
        return posix_fail(EINVAL);
    }
    if (POSIX_PROCESSES && shared != 0) {
        shsem_init(sem, value);
        return 0;
    }
    return sem_result(rt_sem_init(SEM(sem), value));
}

void shsem_init(sem_t *sem, unsigned value)
{
    *SHSEM(sem) = (struct rt_shsem){.shared = POSIX_SHARED_MARK};
    at_init(&SHSEM(sem)->word, value);
}

static int private_destroy(struct rt_sem *s)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&s->queue.lock, RANK_WAITQ);
    bool busy = !waitq_empty_locked(&s->queue);
    state_unlock(&s->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return busy ? -EBUSY : 0;
}

/* A null pointer: undefined in POSIX; the C library does not read it. */
int pirn_posix_sem_destroy(sem_t *sem)
{
    if (sem == NULL) {
        return 0;
    }
    return sem_result(SHARED(sem) ? rt_shsem_destroy(SHSEM(sem)) : private_destroy(SEM(sem)));
}

/* A handler may end the wait with EINTR, as POSIX allows; handlers with SA_RESTART do not end
 * it. */
static int private_wait(struct rt_sem *s, uint64_t deadline)
{
    posix_signals_expect();
    int error;
    do {
        error = rt_sem_wait_point(s, deadline);
    } while (unlikely(error == -EINTR) && !posix_interrupted(true));
    return error;
}

/* Without a runtime the kernel has run the handler, and it is one that ends the wait. */
static int shared_wait(struct rt_shsem *s, const struct rt_shared_limit *limit)
{
    bool unstarted = rt_is_unstarted();
    posix_signals_expect();
    int error;
    do {
        error = rt_shsem_wait(s, limit);
    } while (unlikely(error == -EINTR) && !unstarted && !posix_interrupted(true));
    return error;
}

int pirn_posix_sem_wait(sem_t *sem)
{
    posix_point();
    return wait_result(SHARED(sem) ? shared_wait(SHSEM(sem), NULL)
                                   : private_wait(SEM(sem), UINT64_MAX));
}

int pirn_posix_sem_trywait(sem_t *sem)
{
    return sem_result(SHARED(sem) ? rt_shsem_trywait(SHSEM(sem)) : rt_sem_trywait(SEM(sem)));
}

static int shared_clockwait(struct rt_shsem *s, const struct posix_limit *limit)
{
    struct rt_shared_limit shared;
    if (rt_shsem_trywait(s) == 0) {
        return 0;
    }
    int error = posix_shared_limit(limit, &shared);
    return error != 0 ? -error : shared_wait(s, &shared);
}

static int private_clockwait(struct rt_sem *s, const struct posix_limit *limit)
{
    uint64_t deadline;
    if (rt_sem_trywait(s) == 0) {
        return 0;
    }
    int error = posix_deadline(limit, &deadline);
    return error != 0 ? -error : private_wait(s, deadline);
}

int pirn_posix_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    if (!posix_clock_valid(clock)) {
        return posix_fail(EINVAL);
    }
    posix_point();
    return wait_result(SHARED(sem) ? shared_clockwait(SHSEM(sem), &limit)
                                   : private_clockwait(SEM(sem), &limit));
}

int pirn_posix_sem_timedwait(sem_t *sem, const struct timespec *abstime)
{
    return pirn_posix_sem_clockwait(sem, CLOCK_REALTIME, abstime);
}

int pirn_posix_sem_post(sem_t *sem)
{
    return sem_result(SHARED(sem) ? rt_shsem_post(SHSEM(sem)) : rt_sem_post(SEM(sem)));
}

int pirn_posix_sem_getvalue(sem_t *sem, int *value)
{
    *value = (int)(SHARED(sem) ? rt_shsem_value(SHSEM(sem)) : rt_sem_value(SEM(sem)));
    return 0;
}
