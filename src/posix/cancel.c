/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - cancellation state. It is kept for programs that save and restore it; requests are
 * refused (ENOSYS) until threads can act on them.
 */
#include <errno.h>

#include "posix.h"

int pirn_pthread_cancel(pthread_t thread)
{
    (void)thread;
    return ENOSYS;
}

/* Most programs only ever set what is set already: that needs no memory. */
static int swap(int *(*field)(struct posix_local *), int value, int initial, int *old)
{
    struct posix_local *local = rt_self()->local;
    int before = local != NULL ? *field(local) : initial;
    if (value != before) {
        local = posix_local();
        if (local == NULL) {
            return ENOMEM;
        }
        *field(local) = value;
    }
    if (old != NULL) {
        *old = before;
    }
    return 0;
}

static int *state_of(struct posix_local *local)
{
    return &local->cancel_state;
}

static int *type_of(struct posix_local *local)
{
    return &local->cancel_type;
}

int pirn_pthread_setcancelstate(int state, int *old)
{
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) {
        return EINVAL;
    }
    return swap(state_of, state, PTHREAD_CANCEL_ENABLE, old);
}

int pirn_pthread_setcanceltype(int type, int *old)
{
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) {
        return EINVAL;
    }
    return swap(type_of, type, PTHREAD_CANCEL_DEFERRED, old);
}

void pirn_pthread_testcancel(void) {}
