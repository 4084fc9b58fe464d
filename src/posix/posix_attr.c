/* SPDX-License-Identifier: MIT */
/*
 * posix_attr.c - thread attributes, except those that need memory (posix_attr_ext.c). An attribute
 * stores a class (SCHED_FIFO, SCHED_RR) that the discipline does not have; creating a thread with
 * it fails.
 *
 * Stacks: PTHREAD_STACK_MIN of <limits.h> is a constant, or with _GNU_SOURCE the value of sysconf.
 * Programs have been compiled with the constant, so it is accepted. A thread whose stack the
 * runtime allocates gets at least what the largest signal frame needs. On a small stack of the
 * program's a thread is not switched by a tick while the frame does not fit (PORT_SMALL_STACKS); on
 * other platforms sysconf gives a sufficient size, and a smaller one is EINVAL. So is, everywhere,
 * a stack of the program's on which the thread-local storage leaves too little room.
 */
#include <errno.h>
#include <string.h>

#include "posix.h"
#include "runtime.h"

_Static_assert(sizeof(struct posix_attr) <= sizeof(pthread_attr_t), "pthread_attr_t");

_Static_assert(RT_STACK_MIN <= 16384u, "PTHREAD_STACK_MIN without _GNU_SOURCE");

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

/* A stack of this size holds any signal frame, so the runtime need not start to find the
 * minimum. */
#define STACK_SURELY (256u << 10)

/* The runtime itself uses an attribute while it starts. The minimum is not known then. */
size_t posix_stack_least(bool given)
{
    if (at_load_rlx(&rt.started) == 1) {
        return RT_STACK_MIN;
    }
    rt_self();
    return given ? rt_stack_min_given() : rt.stack_min;
}

/* Explains the first EINVAL, because the program did what <limits.h> says. */
static int stack_refused(size_t size, size_t least)
{
    static _Atomic(uint32_t) warned;
    if (size >= RT_STACK_MIN && at_xchg_rlx(&warned, 1u) == 0) {
        rt_say("pirn: a stack of %zu bytes is refused: threads of this program need %zu"
               " (sysconf(_SC_THREAD_STACK_MIN))\n",
               size, least);
    }
    return EINVAL;
}

int pirn_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size)
{
    if (size < RT_STACK_MIN || size > RT_STACK_MAX) {
        return EINVAL;
    }
    if (size < STACK_SURELY && !PORT_SMALL_STACKS) {
        size_t least = posix_stack_least(false);
        if (size < least) {
            return stack_refused(size, least);
        }
    }
    ATTR(attr)->size = size;
    return 0;
}

int pirn_pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *size)
{
    const struct posix_attr *a = CONST_ATTR(attr);
    size_t deflt = posix_attr_default_size();
    *size = a->size != 0 ? a->size : deflt != 0 ? deflt : rt_personality.stack_size();
    return 0;
}

int pirn_pthread_attr_setstack(pthread_attr_t *attr, void *low, size_t size)
{
    if (low == NULL || size > RT_STACK_MAX) {
        return EINVAL;
    }
    size_t least = posix_stack_least(true);
    if (size < least) {
        return stack_refused(size, least);
    }
    ATTR(attr)->size = size;
    ATTR(attr)->top = (char *)low + size;
    return attr_set_flag(attr, POSIX_ATTR_STACK, true);
}

int pirn_pthread_attr_getstack(const pthread_attr_t *attr, void **low, size_t *size)
{
    const struct posix_attr *a = CONST_ATTR(attr);
    pirn_pthread_attr_getstacksize(attr, size);
    *low = a->flags & POSIX_ATTR_STACK ? a->top - a->size : NULL;
    return 0;
}

/* Accepts any size. Creating a thread rounds it up to pages, and refuses more than RT_STACK_MAX. */
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

/* As in Linux, the only scope is PTHREAD_SCOPE_SYSTEM. */
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
    int error = posix_attr_translate_more(a, out);
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
