/* SPDX-License-Identifier: MIT */
/* native_timer.c - software timers of the native API: <pirn/timer.h>. Checks arguments, and creates
 * the timers' thread. */
#include <errno.h>
#include <pirn/timer.h>

#include "../sync/timers.h"

_Static_assert(sizeof(struct rt_timer) <= sizeof(pirn_timer_t), "pirn_timer_t");
_Static_assert(_Alignof(pirn_timer_t) % _Alignof(struct rt_timer) == 0, "pirn_timer_t is aligned");

#define TIMER(t) ((struct rt_timer *)(t))

EXPORT int pirn_timer_setup(const pirn_attr_t *attr)
{
    pirn_thread_t thread;
    pirn_attr_t own = attr != NULL ? *attr : (pirn_attr_t){0};
    if (own.name == NULL) {
        own.name = "timers";
    }
    own.detached = false;
    if (!rt_timers_claim()) {
        return -EBUSY;
    }
    int error = pirn_create(&thread, &own, rt_timers_run, NULL);
    rt_timers_claimed(error == 0 ? thread : NULL);
    return error;
}

EXPORT int pirn_timer_init(pirn_timer_t *timer, void (*fn)(void *arg), void *arg)
{
    if (fn == NULL) {
        return -EINVAL;
    }
    int error = pirn_timer_setup(NULL);
    if (error != 0 && error != -EBUSY) {
        return error;
    }
    rt_timer_init(TIMER(timer), fn, arg);
    return 0;
}

EXPORT int pirn_timer_start(pirn_timer_t *timer, uint64_t deadline, uint64_t period)
{
    return rt_timer_start(TIMER(timer), deadline, period);
}

EXPORT bool pirn_timer_stop(pirn_timer_t *timer)
{
    return rt_timer_stop(TIMER(timer));
}

EXPORT bool pirn_timer_stop_sync(pirn_timer_t *timer)
{
    return rt_timer_stop_sync(TIMER(timer));
}

EXPORT uint64_t pirn_timer_deadline(pirn_timer_t *timer)
{
    return rt_timer_deadline(TIMER(timer));
}

EXPORT uint32_t pirn_timer_overruns(pirn_timer_t *timer)
{
    return rt_timer_overruns(TIMER(timer));
}
