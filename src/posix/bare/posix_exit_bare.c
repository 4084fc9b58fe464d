/* SPDX-License-Identifier: MIT */
/*
 * posix_exit_bare.c (bare) - pthread_exit, the end of a cancelled thread, cleanup handlers,
 * pthread_once.
 *
 * The handlers form a list through the frames that pushed them. A thread that ends calls them,
 * newest first, from the function that ends it, so all frames exist until the last handler has run.
 * Then key destructors run (posix_local.c), and the thread ends. Nothing is unwound: destructors of
 * C++ frames do not run.
 */
#include <string.h>

#include "../posix.h"
#include "life.h"

static struct posix_local *local_or_die(void)
{
    struct posix_local *local = posix_local();
    if (local == NULL) {
        static const char text[] = "pirn: no memory for a cleanup handler\n";
        port_write(text, sizeof(text) - 1);
        port_panic();
    }
    return local;
}

EXPORT void __pirn_cleanup_push(posix_cleanup *cleanup)
{
    struct posix_local *local = local_or_die();
    cleanup->__older = local->cleanup;
    local->cleanup = cleanup;
}

EXPORT void __pirn_cleanup_pop(posix_cleanup *cleanup, int run)
{
    local_or_die()->cleanup = cleanup->__older;
    if (run) {
        cleanup->__fn(cleanup->__arg);
    }
}

EXPORT void __pirn_cleanup_push_defer(posix_cleanup *cleanup)
{
    __pirn_cleanup_push(cleanup);
    cleanup->__type = posix_cancel_type(PTHREAD_CANCEL_DEFERRED);
}

/* Restores the type first: POSIX makes a request act before the handler is called. */
EXPORT void __pirn_cleanup_pop_restore(posix_cleanup *cleanup, int run)
{
    local_or_die()->cleanup = cleanup->__older;
    posix_cancel_type(cleanup->__type);
    if (run) {
        cleanup->__fn(cleanup->__arg);
    }
}

/* A handler that calls pthread_exit continues with the next older one. */
static void handlers_run(struct thread *self)
{
    struct posix_local *local = self->local;
    while (local != NULL && local->cleanup != NULL) {
        posix_cleanup *cleanup = local->cleanup;
        local->cleanup = cleanup->__older;
        cleanup->__fn(cleanup->__arg);
        local = self->local; /* the handler may have made it */
    }
}

/* The field of the argument is unused after the thread has started, so it holds the return
 * value. */
void pirn_pthread_exit(void *ret)
{
    struct thread *self = rt_self();
    rt_cancel_set(self, CANCEL_ENDING, 0); /* handlers and destructors are not cancelled */
    self->arg_ret = ret;
    handlers_run(self);
    if (self->flags & THREAD_MAIN) {
        life_main_exit(self->arg_ret);
    }
    rt_thread_exit(self->arg_ret);
}

static void has_not_run(void *once)
{
    rt_once_end(once, false);
}

_Static_assert(sizeof(struct rt_once) == sizeof(pthread_once_t), "pthread_once_t");

int pirn_pthread_once(pthread_once_t *control, void (*fn)(void))
{
    struct rt_once *once = (struct rt_once *)control;
    if (unlikely(rt_once_begin(once))) {
        pthread_cleanup_push(has_not_run, once);
        fn();
        pthread_cleanup_pop(0);
        rt_once_end(once, true);
    }
    return 0;
}
