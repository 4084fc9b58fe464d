/* SPDX-License-Identifier: MIT */
/*
 * posix_spin.c - spin locks. The holder may be a thread that waits for this CPU, so a spinning
 * thread yields in every round after the first SPIN_ROUNDS: a single CPU cannot deadlock. The locks
 * also work between processes, whatever threads those use, because the values are the ABI's.
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
                rt_signals_act(); /* a signal does not interrupt a thread in the runtime's code */
            } else if (++round < SPIN_ROUNDS) {
                port_relax(0);
            } else if (!rt_yield()) {
                port_relax(UINT32_MAX); /* the holder may be in another process */
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
