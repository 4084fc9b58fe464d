/* SPDX-License-Identifier: MIT */
/*
 * posix_thread.c - creating, joining, detaching and naming threads.
 */
#include <errno.h>
#include <string.h>

#include "posix.h"
#include "posix_platform.h"
#include "runtime.h"

_Static_assert(sizeof(pthread_t) == sizeof(struct thread *), "a pthread_t holds an address");

/* Only programs with C++ have it. Then a switch saves the thread's exceptions, unless they lie in a
 * TLS block of its own. */
void *__cxa_get_globals(void) __attribute__((weak));

/* The creator's switches save less than those of its threads will. The main thread takes the same
 * flags: it is the caller and runs, so its flags are its own. A foreign thread may have called
 * while the runtime starts: 0 or EAGAIN. */
static COLD int creator_differs(struct thread *self, uint32_t flags)
{
    if (self->flags & THREAD_FOREIGN) {
        return -rt_start_awaited(self);
    }
    if (self->flags & THREAD_MAIN) {
        self->flags |= flags;
    }
    return 0;
}

/* What every thread of this layer carries. */
ALWAYS_INLINE uint32_t create_carries(void)
{
    return THREAD_FP | (__cxa_get_globals != NULL ? (uint32_t)THREAD_CXX : 0);
}

static int create_with(pthread_t *thread, const struct thread_attr *attr, void *(*start)(void *),
                       void *arg)
{
    struct thread_attr full = *attr;
    struct thread *self = rt_self(), *t;
    full.flags |= create_carries() | THREAD_CREATE_NAMED;
    full.handle = (void **)thread;
    if (unlikely(~self->flags & create_carries())) {
        int error = creator_differs(self, create_carries());
        if (error != 0) {
            return error;
        }
    }
    return -rt_thread_create(&t, &full, start, arg);
}

/* With attributes, in a program with other defaults, or beside a sanitizer. */
static NOINLINE int create_slow(pthread_t *thread, const pthread_attr_t *attr,
                                void *(*start)(void *), void *arg)
{
    struct thread_attr internal = {0};
    int error = 0;
    if (unlikely(posix_sanitized) && posix_sanitizer_helper(thread, attr, start, arg, &error)) {
        return error;
    }
    if (attr != NULL) {
        if (unlikely(posix_timer_helper(thread, start, arg, &error))) {
            return error;
        }
        error = posix_attr_translate(attr, &internal);
    } else if (posix_attr_has_default()) {
        error = posix_attr_translate_default(&internal);
    }
    if (likely(error == 0)) {
        error = create_with(thread, &internal, start, arg);
    }
    if (unlikely(internal.sigmask != NULL) && error == 0) {
        posix_signals_opened(*internal.sigmask);
    }
    if (unlikely(posix_sanitized) && error == 0) {
        posix_sanitizer_created();
    }
    return error;
}

/* *thread is written before the new thread runs. POSIX does not promise it, but programs rely on
 * it. */
int pirn_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                        void *arg)
{
    struct thread *t;
    uint32_t carries = create_carries();
    bool plain = RT_SPEED && !posix_sanitized && attr == NULL && !posix_attr_has_default() &&
                 !(~rt_self()->flags & carries);
    if (likely(plain)) {
        return -rt_thread_create_plain(&t, carries | THREAD_CREATE_NAMED, (void **)thread, start,
                                       arg);
    }
    return create_slow(thread, attr, start, arg);
}

/* A foreign thread cannot be joined. (The main thread is one until the runtime has started.) */
static COLD int join_refuses(struct thread *t)
{
    if (t == NULL) {
        return ESRCH;
    }
    rt_self(); /* starts the runtime */
    return t->flags & THREAD_FOREIGN ? EINVAL : 0;
}

/* Without a limit if `deadline` is NULL. */
ALWAYS_INLINE int join(pthread_t thread, void **ret, const uint64_t *deadline)
{
    struct thread *t = posix_thread(thread);
    int error;
    if (unlikely(t == NULL || (t->flags & THREAD_FOREIGN)) && (error = join_refuses(t)) != 0) {
        return error;
    }
    posix_point();
    do {
        error = deadline != NULL ? rt_thread_join_point_until(t, ret, *deadline)
                                 : rt_thread_join_point(t, ret);
        if (likely(error == 0)) {
            return 0;
        }
        if (error == -EINTR) {
            posix_signals_take();
        }
    } while (error == -EINTR);
    if (error == -ECANCELED) {
        posix_point();
    }
    return -error;
}

int pirn_pthread_join(pthread_t thread, void **ret)
{
    return join(thread, ret, NULL);
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
    uint64_t deadline = UINT64_MAX;
    if (!posix_clock_valid(clock) ||
        (abstime != NULL && posix_deadline(&limit, &deadline) == EINVAL)) {
        return EINVAL;
    }
    return join(thread, ret, &deadline);
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

int pirn_pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

int pirn_pthread_setname_np(pthread_t thread, const char *name)
{
    struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    if (strlen(name) >= RT_NAME_MAX) {
        return ERANGE;
    }
    rt_thread_rename(t, name);
    return 0;
}

int pirn_pthread_getname_np(pthread_t thread, char *name, size_t size)
{
    const struct thread *t = posix_thread(thread);
    if (t == NULL) {
        return ESRCH;
    }
    if (strnlen(t->name, RT_NAME_MAX) >= size) {
        return ERANGE;
    }
    memcpy(name, t->name, strnlen(t->name, RT_NAME_MAX - 1) + 1);
    return 0;
}
