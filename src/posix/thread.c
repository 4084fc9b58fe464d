/* SPDX-License-Identifier: MIT */
/*
 * thread.c - creating, joining, detaching, naming.
 */
#include <errno.h>
#include <string.h>

#include "posix.h"

_Static_assert(sizeof(pthread_t) == sizeof(struct thread *), "a pthread_t holds an address");

/* There only in programs with C++: then threads carry their exceptions with them. */
void *__cxa_get_globals(void) __attribute__((weak));

/* The main thread carries them too; it is the caller and runs, so its flags are its own. */
static COLD void main_carries_exceptions(struct thread *self)
{
    if (self->flags & THREAD_MAIN) {
        self->flags |= THREAD_CXX;
    }
}

static int create_with(pthread_t *thread, const struct thread_attr *attr, void *(*start)(void *),
                       void *arg)
{
    struct thread_attr cxx = *attr;
    struct thread *self = rt_self();
    if (__cxa_get_globals != NULL) {
        cxx.flags |= THREAD_CXX;
        if (unlikely(!(self->flags & THREAD_CXX))) {
            main_carries_exceptions(self);
        }
    }
    return -rt_thread_create((struct thread **)thread, &cxx, start, arg);
}

/* *thread is written before the new thread runs: programs rely on it, though POSIX does not say so.
 */
int pirn_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                        void *arg)
{
    struct thread_attr internal = {0};
    int error = 0;
    if (unlikely(attr != NULL)) {
        error = posix_attr_translate(attr, &internal);
    } else if (unlikely(at_load_rlx(&posix_attr_default_set))) {
        error = posix_attr_translate_default(&internal);
    }
    return error != 0 ? error : create_with(thread, &internal, start, arg);
}

static int join_limited(pthread_t thread, void **ret, const struct posix_limit *limit)
{
    struct thread *t = posix_thread(thread);
    uint64_t deadline = UINT64_MAX;
    if (t == NULL) {
        return ESRCH;
    }
    if (t->flags & THREAD_FOREIGN) {
        return EINVAL;
    }
    if (limit != NULL) {
        int error = posix_deadline(limit, &deadline);
        if (error == EINVAL) {
            return error;
        }
    }
    return -rt_thread_join(t, ret, deadline);
}

int pirn_pthread_join(pthread_t thread, void **ret)
{
    return join_limited(thread, ret, NULL);
}

int pirn_pthread_tryjoin_np(pthread_t thread, void **ret)
{
    struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    return t == rt_self() ? EBUSY : -rt_thread_tryjoin(t, ret);
}

int pirn_pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t clock,
                              const struct timespec *abstime)
{
    struct posix_limit limit = {clock, abstime};
    if (!posix_clock_valid(clock)) {
        return EINVAL;
    }
    return join_limited(thread, ret, abstime != NULL ? &limit : NULL);
}

int pirn_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *abstime)
{
    return pirn_pthread_clockjoin_np(thread, ret, CLOCK_REALTIME, abstime);
}

int pirn_pthread_detach(pthread_t thread)
{
    struct thread *t = posix_thread(thread);
    return t == NULL ? ESRCH : -rt_thread_detach(t);
}

pthread_t pirn_pthread_self(void)
{
    return (pthread_t)rt_self();
}

int pirn_pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

int pirn_pthread_setname_np(pthread_t thread, const char *name)
{
    if (strlen(name) >= RT_NAME_MAX) {
        return ERANGE;
    }
    thread_set_name(posix_thread(thread), name);
    return 0;
}

int pirn_pthread_getname_np(pthread_t thread, char *name, size_t size)
{
    const struct thread *t = posix_thread(thread);
    if (strnlen(t->name, RT_NAME_MAX) >= size) {
        return ERANGE;
    }
    memcpy(name, t->name, strnlen(t->name, RT_NAME_MAX - 1) + 1);
    return 0;
}
