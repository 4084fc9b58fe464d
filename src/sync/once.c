/* SPDX-License-Identifier: MIT */
/*
 * once.c - run a function once. Waiters wait for the control word to change (futex.h); they look at
 * it again when the function has ended, or has been left.
 */
#include <errno.h>

#include "futex.h"
#include "mutant.h"
#include "sync.h"

static void once_wait(struct rt_once *once)
{
    static const struct futex_wait wait = {
        .value = ONCE_RUNNING, .deadline = UINT64_MAX, .reason = WAIT_ONCE};
    if (rt_futex_wait(&once->state, &wait) == -EINTR) {
        rt_signals_act();
    }
}

void rt_once_end(struct rt_once *once, bool done)
{
    RT_ASSERT(at_peek(&once->state) == ONCE_RUNNING);
    at_store_rel(&once->state, done ? (uint32_t)ONCE_DONE : ONCE_NEW); /* ORDER(once) */
    if (!MUTANT(ONCE_DROP)) {
        rt_futex_wake(&once->state, UINT32_MAX);
    }
}

/* fn was left by an exception or by pthread_exit: it has not run, and somebody else may run it. */
static void once_abandon(struct rt_once **once)
{
    if (*once != NULL) {
        rt_once_end(*once, false);
    }
}

/* Compiled with -fexceptions. */
static void once_run(struct rt_once *once, void (*fn)(void))
{
    struct rt_once *running CLEANUP(once_abandon) = once;
    fn();
    running = NULL;
    rt_once_end(once, true);
}

bool rt_once_begin(struct rt_once *once)
{
    while (unlikely(at_load_acq(&once->state) != ONCE_DONE)) { /* ORDER(once) */
        uint32_t state = ONCE_NEW;
        rt_identity();
        if (at_cas_acq(&once->state, &state, (uint32_t)ONCE_RUNNING)) { /* ORDER(once) */
            return true;
        }
        if (state == ONCE_RUNNING) {
            once_wait(once);
        }
    }
    return false;
}

void rt_once(struct rt_once *once, void (*fn)(void))
{
    if (unlikely(rt_once_begin(once))) {
        once_run(once, fn);
    }
}
