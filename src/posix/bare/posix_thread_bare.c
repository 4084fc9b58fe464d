/* SPDX-License-Identifier: MIT */
/*
 * posix_thread_bare.c (bare) - functions whose boards' version differs: pthread_self, the limits of
 * classes, pthread_kill without signals, attributes that own no memory, sysconf.
 */
#include <errno.h>

#include "../posix.h"
#include "runtime.h"

#define NS_PER_S 1000000000u

_Static_assert(sizeof(struct posix_attr) == sizeof(pthread_attr_t), "pthread_attr_t");
_Static_assert(sizeof(struct rt_mutex) == sizeof(pthread_mutex_t), "pthread_mutex_t");
_Static_assert(offsetof(struct rt_mutex, kind) == offsetof(pthread_mutex_t, __kind), "kind");
_Static_assert(sizeof(struct rt_cond) == sizeof(pthread_cond_t), "pthread_cond_t");
_Static_assert(sizeof(struct rt_rwlock) == sizeof(pthread_rwlock_t), "pthread_rwlock_t");
_Static_assert(offsetof(struct rt_rwlock, prefer_writer) == offsetof(pthread_rwlock_t, __kind), "");
_Static_assert(sizeof(struct rt_barrier) == sizeof(pthread_barrier_t), "pthread_barrier_t");
_Static_assert(sizeof(struct rt_sem) == sizeof(sem_t), "sem_t");
_Static_assert(TSS_DTOR_ITERATIONS == PTHREAD_DESTRUCTOR_ITERATIONS, "");

pthread_t pirn_pthread_self(void)
{
    return rt_self();
}

int pirn_pthread_kill(pthread_t thread, int signal)
{
    (void)thread;
    return signal == 0 ? 0 : EINVAL;
}

int pirn_pthread_attr_destroy(pthread_attr_t *attr)
{
    (void)attr;
    return 0;
}

static int limit_of(int policy, int other, int real_time)
{
    switch (policy) {
    case SCHED_OTHER:
        return other;
    case SCHED_FIFO:
    case SCHED_RR:
        return real_time;
    default:
        return posix_fail(EINVAL);
    }
}

int pirn_posix_sched_get_priority_max(int policy)
{
    return limit_of(policy, 0, 99);
}

int pirn_posix_sched_get_priority_min(int policy)
{
    return limit_of(policy, 0, 1);
}

int pirn_posix_sched_rr_get_interval(pid_t process, struct timespec *interval)
{
    rt_self(); /* reads the options */
    if (process != 0 && process != 1) {
        return posix_fail(process < 0 ? EINVAL : ESRCH);
    }
    uint64_t ns = (uint64_t)rt.slice_ticks * rt.tick_ns;
    *interval = (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    return 0;
}

long pirn_posix_sysconf(int name)
{
    switch (name) {
    case _SC_THREAD_STACK_MIN:
        return (long)posix_stack_least(true);
    case _SC_NPROCESSORS_CONF:
    case _SC_NPROCESSORS_ONLN:
        return (long)port_cpu_count();
    case _SC_PAGESIZE:
        return (long)RT_GUARD_DEFAULT;
    case _SC_SEM_VALUE_MAX:
        return SEM_VALUE_MAX;
    case _SC_MQ_OPEN_MAX:
        return MQ_OPEN_MAX;
    case _SC_MQ_PRIO_MAX:
        return MQ_PRIO_MAX;
    case _SC_THREAD_DESTRUCTOR_ITERATIONS:
        return PTHREAD_DESTRUCTOR_ITERATIONS;
    case _SC_THREAD_KEYS_MAX:
        return PTHREAD_KEYS_MAX;
    default:
        return posix_fail(EINVAL);
    }
}
