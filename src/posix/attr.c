/* SPDX-License-Identifier: MIT */
/*
 * attr.c - thread attributes, but those that need memory (attr_ext.c). What the scheduler cannot do
 * in its discipline (SCHED_FIFO, SCHED_RR) is stored, and refused when a thread is created with it.
 */
#include <errno.h>
#include <string.h>

#include "posix.h"

_Static_assert(sizeof(struct posix_attr) <= sizeof(pthread_attr_t), "pthread_attr_t");
_Static_assert(offsetof(struct posix_attr, guard) == 16, "pthread_attr_t");
_Static_assert(offsetof(struct posix_attr, size) == 32, "pthread_attr_t");
_Static_assert(RT_STACK_MIN <= 16384, "PTHREAD_STACK_MIN");

int pirn_pthread_attr_init(pthread_attr_t *attr)
{
    memset(attr, 0, sizeof(*attr));
    ATTR(attr)->guard = POSIX_GUARD_DEFAULT;
    return 0;
}

static int attr_set_flag(pthread_attr_t *attr, int flag, bool on)
{
    if (on) {
        ATTR(attr)->flags |= flag;
    } else {
        ATTR(attr)->flags &= ~flag;
    }
    return 0;
}

int pirn_pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
    if (state != PTHREAD_CREATE_DETACHED && state != PTHREAD_CREATE_JOINABLE) {
        return EINVAL;
    }
    return attr_set_flag(attr, POSIX_ATTR_DETACHED, state == PTHREAD_CREATE_DETACHED);
}

int pirn_pthread_attr_getdetachstate(const pthread_attr_t *attr, int *state)
{
    *state = CONST_ATTR(attr)->flags & POSIX_ATTR_DETACHED ? PTHREAD_CREATE_DETACHED
                                                           : PTHREAD_CREATE_JOINABLE;
    return 0;
}

int pirn_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size)
{
    if (size < RT_STACK_MIN || size > RT_STACK_MAX) {
        return EINVAL;
    }
    ATTR(attr)->size = size;
    return 0;
}

int pirn_pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *size)
{
    const struct posix_attr *a = CONST_ATTR(attr);
    size_t deflt = posix_attr_default_size();
    *size = a->size != 0 ? a->size : deflt != 0 ? deflt : rt_stack_default;
    return 0;
}

int pirn_pthread_attr_setstack(pthread_attr_t *attr, void *low, size_t size)
{
    int error = low == NULL ? EINVAL : pirn_pthread_attr_setstacksize(attr, size);
    if (error == 0) {
        ATTR(attr)->top = (char *)low + size;
        attr_set_flag(attr, POSIX_ATTR_STACK, true);
    }
    return error;
}

int pirn_pthread_attr_getstack(const pthread_attr_t *attr, void **low, size_t *size)
{
    const struct posix_attr *a = CONST_ATTR(attr);
    pirn_pthread_attr_getstacksize(attr, size);
    *low = a->flags & POSIX_ATTR_STACK ? a->top - a->size : NULL;
    return 0;
}

int pirn_pthread_attr_setstackaddr(pthread_attr_t *attr, void *top)
{
    ATTR(attr)->top = top;
    return attr_set_flag(attr, POSIX_ATTR_STACK, true);
}

int pirn_pthread_attr_getstackaddr(const pthread_attr_t *attr, void **top)
{
    *top = CONST_ATTR(attr)->top;
    return 0;
}

/* Any size; rounded up to pages when a thread is made, and refused there above RT_STACK_MAX. */
int pirn_pthread_attr_setguardsize(pthread_attr_t *attr, size_t size)
{
    ATTR(attr)->guard = size;
    return 0;
}

int pirn_pthread_attr_getguardsize(const pthread_attr_t *attr, size_t *size)
{
    *size = CONST_ATTR(attr)->guard;
    return 0;
}

int pirn_pthread_attr_setschedpolicy(pthread_attr_t *attr, int policy)
{
    if (policy != SCHED_OTHER && policy != SCHED_FIFO && policy != SCHED_RR) {
        return EINVAL;
    }
    ATTR(attr)->policy = policy;
    return 0;
}

int pirn_pthread_attr_getschedpolicy(const pthread_attr_t *attr, int *policy)
{
    *policy = CONST_ATTR(attr)->policy;
    return 0;
}

int pirn_pthread_attr_setschedparam(pthread_attr_t *attr, const struct sched_param *param)
{
    int policy = ATTR(attr)->policy;
    if (param->sched_priority < sched_get_priority_min(policy) ||
        param->sched_priority > sched_get_priority_max(policy)) {
        return EINVAL;
    }
    ATTR(attr)->priority = param->sched_priority;
    return 0;
}

int pirn_pthread_attr_getschedparam(const pthread_attr_t *attr, struct sched_param *param)
{
    *param = (struct sched_param){.sched_priority = CONST_ATTR(attr)->priority};
    return 0;
}

int pirn_pthread_attr_setinheritsched(pthread_attr_t *attr, int inherit)
{
    if (inherit != PTHREAD_INHERIT_SCHED && inherit != PTHREAD_EXPLICIT_SCHED) {
        return EINVAL;
    }
    return attr_set_flag(attr, POSIX_ATTR_EXPLICIT, inherit == PTHREAD_EXPLICIT_SCHED);
}

int pirn_pthread_attr_getinheritsched(const pthread_attr_t *attr, int *inherit)
{
    *inherit = CONST_ATTR(attr)->flags & POSIX_ATTR_EXPLICIT ? PTHREAD_EXPLICIT_SCHED
                                                             : PTHREAD_INHERIT_SCHED;
    return 0;
}

/* As on the system we stand in for: the only scope is PTHREAD_SCOPE_SYSTEM. */
int pirn_pthread_attr_setscope(pthread_attr_t *attr, int scope)
{
    (void)attr;
    return scope == PTHREAD_SCOPE_SYSTEM ? 0 : scope == PTHREAD_SCOPE_PROCESS ? ENOTSUP : EINVAL;
}

int pirn_pthread_attr_getscope(const pthread_attr_t *attr, int *scope)
{
    (void)attr;
    *scope = PTHREAD_SCOPE_SYSTEM;
    return 0;
}

int posix_attr_translate(const pthread_attr_t *attr, struct thread_attr *out)
{
    const struct posix_attr *a = CONST_ATTR(attr);
    size_t size = a->size != 0 ? a->size : posix_attr_default_size();
    if (a->flags & POSIX_ATTR_STACK) {
        if (a->size == 0) {
            return EINVAL;
        }
        out->stack = a->top - a->size;
    }
    if (a->guard > RT_STACK_MAX) {
        return EINVAL;
    }
    int error = posix_attr_translate_extension(a->extension, out);
    if (error != 0) {
        return error;
    }
    out->explicit_sched = a->flags & POSIX_ATTR_EXPLICIT;
    if (out->explicit_sched &&
        (error = posix_sched_translate(a->policy, a->priority, 0, &out->sched)) != 0) {
        return error;
    }
    out->stack_size = size == rt.stack_size && out->stack == NULL ? 0 : size;
    out->flags = a->flags & POSIX_ATTR_DETACHED ? THREAD_CREATE_DETACHED : 0;
    if (a->guard == 0 || a->guard > POSIX_GUARD_DEFAULT) {
        out->guard = a->guard;
        out->flags |= THREAD_CREATE_GUARD;
    }
    return 0;
}
