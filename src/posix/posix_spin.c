/* SPDX-License-Identifier: MIT */
/*
 * posix_spin.c - spin locks. The holder may be a thread that waits for this CPU, so a spinning
 * thread yields in every round after the first SPIN_ROUNDS: a single CPU cannot deadlock. The locks
 * also work between processes, whatever threads those use, because the values are the ABI's.
 *
 * The yield of a handler of an interrupt ends the program: the holder may be the thread that it has
 * interrupted. Libraries with assertions say before that which one it is.
 */
#include <errno.h>

#include "port_report.h"
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

#ifdef POSIX_SPIN_NAMED
static bool spin_take(pthread_spinlock_t *lock)
{
    bool has;
    const struct thread *self = rt_current(&has);
    uint32_t word = POSIX_SPIN_FREE;
    uint32_t held = has ? POSIX_SPIN_NAMED + self->index : (uint32_t)POSIX_SPIN_HELD;
    return at_cas_acq(SPIN(lock), &word, held); /* ORDER(spinlock) */
}

static NORETURN COLD void spin_refuse(uint32_t word)
{
    char who[RT_NAME_MAX + 24] = "", what[sizeof(who) + 80];
    if (RT_REPORT && word >= POSIX_SPIN_NAMED) {
        rt_describe_index(word - POSIX_SPIN_NAMED, who, sizeof(who));
    }
    snprintf(what, sizeof(what), "waits for a spin lock%s%s%s, which handlers must not do",
             who[0] != '\0' ? " that " : "", who, who[0] != '\0' ? " holds" : "");
    port_handler_refuse(what);
}

static void spin_check(pthread_spinlock_t *lock)
{
    if (!port_may_switch()) {
        spin_refuse(at_load_rlx(SPIN(lock)));
    }
}
#else
ALWAYS_INLINE bool spin_take(pthread_spinlock_t *lock)
{
    uint32_t was = at_xchg_acq(SPIN(lock), (uint32_t)POSIX_SPIN_HELD); /* ORDER(spinlock) */
    return was == POSIX_SPIN_FREE;
}

ALWAYS_INLINE void spin_check(pthread_spinlock_t *lock)
{
    (void)lock;
}
#endif

int pirn_pthread_spin_trylock(pthread_spinlock_t *lock)
{
    return spin_take(lock) ? 0 : EBUSY;
}

int pirn_pthread_spin_lock(pthread_spinlock_t *lock)
{
    for (unsigned round = 0; pirn_pthread_spin_trylock(lock) != 0; round++) {
        while (at_load_rlx(SPIN(lock)) != POSIX_SPIN_FREE) {
            if (unlikely(rt_signals) && rt_signalled()) {
                rt_signals_act(); /* a signal does not interrupt a thread in the runtime's code */
            } else if (++round < SPIN_ROUNDS) {
                port_relax(0);
            } else {
                spin_check(lock);
                if (!rt_yield()) {
                    port_relax(UINT32_MAX); /* the holder may be in another process */
                }
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
