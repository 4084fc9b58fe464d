/* SPDX-License-Identifier: MIT */
/*
 * posix_spin.c - spin locks. The holder may be a thread that waits for this CPU: after some rounds
 * every round yields, so a single CPU cannot deadlock. They work between processes, too, whatever
 * threads these have: the ABI gives the values.
 */
#include <errno.h>

#include "port_signals.h"
#include "posix.h"

#define SPIN_ROUNDS 100u

#define SPIN(lock) ((_Atomic(uint32_t) *)(lock))

int pirn_pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    at_init(SPIN(lock), (uint32_t)POSIX_SPIN_FREE);
    return 0;
}

int pirn_pthread_spin_destroy(pthread_spinlock_t *lock)
{
    (void)lock;
    return 0;
}

int pirn_pthread_spin_trylock(pthread_spinlock_t *lock)
{
    uint32_t was = at_xchg_acq(SPIN(lock), (uint32_t)POSIX_SPIN_HELD); /* ORDER(spinlock) */
    return was == POSIX_SPIN_FREE ? 0 : EBUSY;
}

int pirn_pthread_spin_lock(pthread_spinlock_t *lock)
{
    for (unsigned round = 0; pirn_pthread_spin_trylock(lock) != 0; round++) {
        while (at_load_rlx(SPIN(lock)) != POSIX_SPIN_FREE) {
            if (unlikely(rt_signals) && rt_signalled()) {
                rt_signals_act(); /* here no signal finds the thread: it is our code */
            } else if (++round < SPIN_ROUNDS) {
                port_relax(0);
            } else if (!rt_yield()) {
                port_relax(UINT32_MAX); /* it may be another process's */
            }
        }
    }
    return 0;
}

int pirn_pthread_spin_unlock(pthread_spinlock_t *lock)
{
    at_store_rel(SPIN(lock), (uint32_t)POSIX_SPIN_FREE); /* ORDER(spinlock) */
    return 0;
}
