/* SPDX-License-Identifier: MIT */
/*
 * spin.c - spin locks. The holder may be a thread that waits for this CPU: after some rounds every
 * round yields, so a single CPU cannot deadlock. They work between processes, too.
 */
#include <errno.h>

#include "posix.h"

#define SPIN_ROUNDS 100u

#define SPIN(lock) ((_Atomic(uint32_t) *)(lock))

_Static_assert(sizeof(pthread_spinlock_t) == sizeof(uint32_t), "pthread_spinlock_t");

int pirn_pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    if (shared != PTHREAD_PROCESS_PRIVATE && shared != PTHREAD_PROCESS_SHARED) {
        return EINVAL;
    }
    at_init(SPIN(lock), 0u);
    return 0;
}

int pirn_pthread_spin_destroy(pthread_spinlock_t *lock)
{
    (void)lock;
    return 0;
}

int pirn_pthread_spin_trylock(pthread_spinlock_t *lock)
{
    return at_xchg_acq(SPIN(lock), 1u) == 0 ? 0 : EBUSY; /* ORDER(spinlock) */
}

int pirn_pthread_spin_lock(pthread_spinlock_t *lock)
{
    for (unsigned round = 0; pirn_pthread_spin_trylock(lock) != 0; round++) {
        while (at_load_rlx(SPIN(lock)) != 0) {
            if (++round < SPIN_ROUNDS) {
                port_relax(0);
            } else {
                rt_yield();
            }
        }
    }
    return 0;
}

int pirn_pthread_spin_unlock(pthread_spinlock_t *lock)
{
    at_store_rel(SPIN(lock), 0u); /* ORDER(spinlock) */
    return 0;
}
