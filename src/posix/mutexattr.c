/* SPDX-License-Identifier: MIT */
/*
 * mutexattr.c - mutex attributes. Only the type exists yet; what is not there is refused where it
 * is asked for (ENOTSUP), never ignored.
 */
#include <errno.h>

#include "posix.h"

#define TYPE(attr) (*(int *)(attr))
#define CONST_TYPE(attr) (*(const int *)(attr))

int pirn_pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
    TYPE(attr) = PTHREAD_MUTEX_DEFAULT;
    return 0;
}

int pirn_pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
    TYPE(attr) = -1;
    return 0;
}

int pirn_pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
    if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ADAPTIVE_NP) {
        return EINVAL;
    }
    TYPE(attr) = type;
    return 0;
}

int pirn_pthread_mutexattr_gettype(const pthread_mutexattr_t *attr, int *type)
{
    *type = CONST_TYPE(attr);
    return 0;
}

/* The answer to an attribute of which only `have` is there, of the values have..last. */
static int only(int value, int have, int last)
{
    return value == have ? 0 : value > have && value <= last ? ENOTSUP : EINVAL;
}

int pirn_pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int shared)
{
    (void)attr;
    return only(shared, PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED);
}

int pirn_pthread_mutexattr_getpshared(const pthread_mutexattr_t *attr, int *shared)
{
    (void)attr;
    *shared = PTHREAD_PROCESS_PRIVATE;
    return 0;
}

int pirn_pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robust)
{
    (void)attr;
    return only(robust, PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST);
}

int pirn_pthread_mutexattr_getrobust(const pthread_mutexattr_t *attr, int *robust)
{
    (void)attr;
    *robust = PTHREAD_MUTEX_STALLED;
    return 0;
}

int pirn_pthread_mutexattr_setprotocol(pthread_mutexattr_t *attr, int protocol)
{
    (void)attr;
    return only(protocol, PTHREAD_PRIO_NONE, PTHREAD_PRIO_PROTECT);
}

int pirn_pthread_mutexattr_getprotocol(const pthread_mutexattr_t *attr, int *protocol)
{
    (void)attr;
    *protocol = PTHREAD_PRIO_NONE;
    return 0;
}

int pirn_pthread_mutexattr_setprioceiling(pthread_mutexattr_t *attr, int ceiling)
{
    (void)attr;
    return ceiling >= sched_get_priority_min(SCHED_FIFO) &&
                   ceiling <= sched_get_priority_max(SCHED_FIFO)
               ? ENOTSUP
               : EINVAL;
}

int pirn_pthread_mutexattr_getprioceiling(const pthread_mutexattr_t *attr, int *ceiling)
{
    (void)attr;
    *ceiling = sched_get_priority_min(SCHED_FIFO);
    return 0;
}
