/* SPDX-License-Identifier: MIT */
/*
 * sem.c - semaphores. Named (ENOSYS) and process-shared ones (ENOTSUP) are refused; `shared` is
 * where the system's own would keep its mark, and a semaphore that has one is not operated on.
 */
#include <errno.h>

#include "posix.h"

_Static_assert(sizeof(struct rt_sem) <= sizeof(sem_t), "sem_t");
_Static_assert(offsetof(struct rt_sem, shared) == 8, "sem_t");

#define SEM(sem) ((struct rt_sem *)(sem))

ALWAYS_INLINE int sem_result(int error)
{
    return likely(error == 0) ? 0 : posix_fail(-error);
}

int pirn_posix_sem_init(sem_t *sem, int shared, unsigned value)
{
    if (shared != 0) {
        return posix_fail(ENOTSUP);
    }
    return sem_result(rt_sem_init(SEM(sem), value));
}

int pirn_posix_sem_destroy(sem_t *sem)
{
    struct rt_sem *s = SEM(sem);
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&s->queue.lock, RANK_WAITQ);
    bool busy = !waitq_empty_locked(&s->queue);
    state_unlock(&s->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return busy ? posix_fail(EBUSY) : 0;
}

int pirn_posix_sem_wait(sem_t *sem)
{
    if (unlikely(SEM(sem)->shared != 0)) {
        return posix_fail(ENOTSUP);
    }
    return sem_result(rt_sem_wait_until(SEM(sem), UINT64_MAX));
}

int pirn_posix_sem_trywait(sem_t *sem)
{
    return sem_result(rt_sem_trywait(SEM(sem)));
}

int pirn_posix_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    uint64_t deadline;
    if (!posix_clock_valid(clock)) {
        return posix_fail(EINVAL);
    }
    if (rt_sem_trywait(SEM(sem)) == 0) {
        return 0;
    }
    int error = posix_deadline(&limit, &deadline);
    return error != 0 ? posix_fail(error) : sem_result(rt_sem_wait_until(SEM(sem), deadline));
}

int pirn_posix_sem_timedwait(sem_t *sem, const struct timespec *abstime)
{
    return pirn_posix_sem_clockwait(sem, CLOCK_REALTIME, abstime);
}

int pirn_posix_sem_post(sem_t *sem)
{
    if (unlikely(SEM(sem)->shared != 0)) {
        return posix_fail(ENOTSUP);
    }
    return sem_result(rt_sem_post(SEM(sem)));
}

int pirn_posix_sem_getvalue(sem_t *sem, int *value)
{
    *value = (int)rt_sem_value(SEM(sem));
    return 0;
}

sem_t *pirn_posix_sem_open(const char *name, int flags, ...)
{
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return SEM_FAILED;
}

int pirn_posix_sem_close(sem_t *sem)
{
    (void)sem;
    return posix_fail(EINVAL);
}

int pirn_posix_sem_unlink(const char *name)
{
    (void)name;
    return posix_fail(ENOSYS);
}
