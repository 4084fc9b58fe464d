/* SPDX-License-Identifier: MIT */
/*
 * posix_cancel.c - cancellation: requests, state and type.
 *
 * core/cancel.h says how a request reaches a thread that waits or is in a system call. The thread
 * itself acts on the request, by pthread_exit(PTHREAD_CANCELED) (posix_exit.c), in the function
 * that is the cancellation point. It does so after its wait has ended and after it has kept the
 * function's promises (the mutex of a condition variable is locked again).
 *
 * The cancellation points are the functions that POSIX lists as such (XSH 2.9.5.2), and those that
 * the C library adds (epoll_wait, usleep, sem_clockwait, ...). They call posix_point at their
 * beginning and where a request has ended their wait. A function that has done part of its work
 * returns that part, and the request stays for the next cancellation point.
 */
#include <errno.h>

#include "port_signals.h"
#include "posix.h"
#include "posix_platform.h"

_Static_assert(PTHREAD_CANCEL_ENABLE == 0 && PTHREAD_CANCEL_DEFERRED == 0, "zero is the default");

void posix_cancel_now(void)
{
    if (!PORT_KNOWS_INSIDE || port_may_wait()) {
        posix_mask_end();
        pirn_pthread_exit(PTHREAD_CANCELED);
    }
}

/* Acts at once on a request if the type is asynchronous. */
static void act_now(struct thread *self)
{
    uint32_t word = at_load_rlx(&self->cancel);
    if (cancel_is_due(word) && (word & CANCEL_ASYNC)) {
        posix_cancel_now();
    }
}

int pirn_pthread_cancel(pthread_t thread)
{
    struct thread *t = posix_thread(thread), *self = rt_self();
    if (t == NULL) {
        return ESRCH;
    }
    if (t->flags & THREAD_FOREIGN) {
        return ENOTSUP; /* the C library's thread, which Pirn cannot end */
    }
    int error = -port_cancel_start();
    if (error == 0) {
        rt_thread_cancel(t);
        if (t == self) {
            act_now(self);
        }
    }
    return error;
}

/* Set or clear a bit of the caller's cancellation word; returns its previous value. */
static bool swap(uint32_t bit, bool value)
{
    struct thread *self = rt_identity();
    bool before = (at_load_rlx(&self->cancel) & bit) != 0;
    if (value != before) {
        rt_cancel_set(self, value ? bit : 0, value ? 0 : bit);
        act_now(self);
    }
    return before;
}

int pirn_pthread_setcancelstate(int state, int *old)
{
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) {
        return EINVAL;
    }
    bool before = swap(CANCEL_DISABLED, state == PTHREAD_CANCEL_DISABLE);
    if (old != NULL) {
        *old = before ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
    }
    return 0;
}

int posix_cancel_type(int type)
{
    return swap(CANCEL_ASYNC, type == PTHREAD_CANCEL_ASYNCHRONOUS) ? PTHREAD_CANCEL_ASYNCHRONOUS
                                                                   : PTHREAD_CANCEL_DEFERRED;
}

int pirn_pthread_setcanceltype(int type, int *old)
{
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) {
        return EINVAL;
    }
    int before = posix_cancel_type(type);
    if (old != NULL) {
        *old = before;
    }
    return 0;
}

/* A thread that has lost its CPU asks for one, which no later function may do for it: it may call
 * only this one until it is cancelled. */
void pirn_pthread_testcancel(void)
{
    if (!PORT_CALLS_BLOCK || likely(port_cpu_self() != NULL) || !rt_is_foreign()) {
        posix_point();
    }
}
