/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - plain mutex.
 *
 * The state of queue.lock: MUTEX_OWNED, and MUTEX_WAITERS if the unlock has to wake somebody.
 *
 * Unlock clears OWNED and wakes one waiter, which competes with arrivals. Handing over always would
 * make every thread that needs the mutex wait for a switch (a convoy). A waiter that has lost for
 * RT_MUTEX_HANDOVER_NS gets the mutex handed over. While the woken waiter is on its way, WAITERS is
 * clear although others may be queued. So the mutex stays with the threads of one CPU, which lock
 * and unlock it as if nobody waited; otherwise each visit would wake another thread that comes too
 * late. A woken waiter that comes too late stays on its way for a while if its CPU has nothing else
 * to do. A woken waiter may be queued behind a long computation on its CPU. Therefore WAITERS is
 * set again where threads are bound to CPUs (policy.pinned), and whenever another thread comes to
 * wait.
 *
 * Invariants:
 *   1. A waiter is queued only under the lock and after it set WAITERS there; WAITERS is cleared
 *      only under the lock. With WAITERS the fast unlock fails, so the unlock that ends that
 *      ownership takes the lock and finds the waiter. It may be set without a waiter after a
 *      time-out, until the next unlock.
 *   2. While a thread is queued, WAITERS is set or a woken waiter is on its way: with others queued
 *      WAITERS is cleared only by waking one. The woken waiter takes the mutex, or queues again,
 *      under the lock, and sets WAITERS if others are queued.
 *   3. Handed over: OWNED stays set while the ownership passes; wait_kind tells the waiter.
 *   4. The write that clears OWNED also releases the lock, and is the last access of an unlock to
 *      the mutex: its next owner may destroy it at once (POSIX, pthread_mutex_destroy).
 * Lock: queue.lock (RANK_WAITQ).
 */
#include <errno.h>

#include "../trace/trace.h"
#include "block.h"
#include "cancel.h"
#include "mutant.h"
#include "port_report.h"
#include "runtime.h"
#include "sync.h"
#include "wake.h"

enum { KIND_COMPETES, KIND_WANTS_HANDOVER, KIND_OWNS };

/* Pauses of the processor before a look at the mutex. */
#define SPIN_FIRST 8u
#define SPIN_LAST 64u
#define LINGER_PAUSES 64u
#define LINGER_LOOKS 16u

#define CLOCK_EVERY 16u /* losses */

void rt_mutex_init(struct rt_mutex *m)
{
    *m = (struct rt_mutex){0};
    at_init(&m->queue.lock.word, MUTEX_FREE);
}

void rt_mutex_note_early(struct rt_mutex *m)
{
    rt_mutex_set_owner(m, rt_identity_early());
}

/* Without MUTEX_OWNED the lock bit is soon gone: its holder takes or frees the mutex. */
int rt_mutex_trylock(struct rt_mutex *m)
{
    _Atomic(uint32_t) *at = &m->queue.lock.word;
    uint32_t word = at_load_rlx(at);
    for (unsigned round = 0; !(word & MUTEX_OWNED); round++) {
        if (word & STATE_LOCKED) {
            state_wait(&m->queue.lock, round);
            word = at_load_rlx(at);
        } else if (at_cas_acq(at, &word, word | MUTEX_OWNED)) { /* ORDER(mutex) */
            rt_mutex_note_owner(m);
            return 0;
        }
    }
    return -EBUSY;
}

static void mutex_pause(unsigned pauses)
{
    for (unsigned i = 0; i < pauses; i++) {
        port_relax(0);
    }
}

/* Another CPU may be about to unlock: a short look costs less than two switches. Each look takes
 * the cache line from the owner, which then takes it back. So the pauses between looks grow: the
 * owner makes progress, and one CPU uses a busy mutex for many visits before the next one does. */
static bool mutex_spin(struct rt_mutex *m)
{
    for (unsigned pauses = SPIN_FIRST; RT_NCPU > 1 && pauses <= SPIN_LAST; pauses *= 2) {
        mutex_pause(pauses);
        uint32_t word = at_load_rlx(&m->queue.lock.word);
        if (!(word & MUTEX_OWNED) && rt_mutex_trylock(m) == 0) {
            return true;
        }
        if (word & MUTEX_WAITERS) {
            return false;
        }
    }
    return false;
}

/* The caller was woken. If it comes too late, it stays on its way while its CPU has nothing else to
 * do, so that no other waiter is woken, and looks now and then. Inside the runtime. */
static void mutex_linger(const struct rt_mutex *m)
{
    struct cpu *cpu = port_cpu_self();
    RT_ASSERT(rt_is_inside() && lockrank_none_held());
    if (cpu == NULL || RT_NCPU == 1) {
        return;
    }
    for (unsigned look = 0; look < LINGER_LOOKS && rt_mutex_is_locked(m); look++) {
        if (rt_has_work(cpu)) {
            return;
        }
        mutex_pause(LINGER_PAUSES);
    }
}

/* Has the caller, woken and too late for the `losses`-th time, lost for long enough? Reading the
 * clock costs more than the rest: at the 1st, 2nd, 4th, 8th loss, then at every CLOCK_EVERY-th.
 * With one CPU a loss means that the owner was switched away from inside, and it may be again. */
static bool mutex_wants_handover(uint32_t losses, uint64_t *since)
{
    if (losses == 0 || RT_NCPU == 1) {
        return losses != 0;
    }
    if (!RT_TIMED) {
        return losses % CLOCK_EVERY == 0;
    }
    if (losses == 1) {
        *since = port_now();
        return false;
    }
    bool look = (losses & (losses - 1)) == 0 || losses % CLOCK_EVERY == 0;
    return look && port_now() - *since >= RT_MUTEX_HANDOVER_NS;
}

/* Wait until woken. 1: the mutex was handed over; 0: compete again; -ETIMEDOUT, -EINTR,
 * -ECANCELED. */
static int mutex_wait_locked(struct rt_mutex *m, uint64_t deadline, bool removable, bool first,
                             bool handover)
{
    struct waitq_options options = {.deadline = deadline,
                                    .object = m,
                                    .reason = WAIT_MUTEX,
                                    .kind = handover ? KIND_WANTS_HANDOVER : KIND_COMPETES,
                                    .removable = removable,
                                    .interruptible = rt_signals,
                                    .front = !first,
                                    .rank = RANK_WAITQ};
    RT_ASSERT(at_peek(&m->queue.lock.word) == (STATE_LOCKED | MUTEX_OWNED | MUTEX_WAITERS));
    int error = waitq_block_locked(&m->queue, &options);
    bool owns = error == 0 && rt_self()->wait_kind == KIND_OWNS;
    RT_ASSERT(error != -ETIMEDOUT || deadline != UINT64_MAX);
    RT_ASSERT(!owns || (handover && (at_peek(&m->queue.lock.word) & MUTEX_OWNED)));
    return error != 0 ? error : owns;
}

/* The bit that must be set while a thread is queued. */
static uint32_t mutex_waiters_locked(const struct rt_mutex *m)
{
    RT_ASSERT(state_is_held(&m->queue.lock, RANK_WAITQ));
    return waitq_empty_locked(&m->queue) || MUTANT(MUTEX_FORGETS) ? 0 : (uint32_t)MUTEX_WAITERS;
}

static NOINLINE int mutex_lock_slow(struct rt_mutex *m, uint64_t deadline, bool async)
{
    uint64_t since = 0;
    uint32_t losses = 0;
    unsigned long irq;
    RT_ASSERT(rt_may_wait(WAIT_MUTEX, m) && lockrank_none_held());
    rt_self();
    if (mutex_spin(m)) {
        return 0;
    }
    rt_self(); /* it may have lost its CPU while it looked */
    trace_contend(rt_enter(&irq), WAIT_MUTEX, m);
    int result = 0;
    for (;;) {
        state_lock(&m->queue.lock, RANK_WAITQ);
        uint32_t state = lock_state(&m->queue.lock);
        if (!(state & MUTEX_OWNED)) {
            state |= MUTEX_OWNED | mutex_waiters_locked(m);
            state_unlock_to(&m->queue.lock, RANK_WAITQ, state);
            rt_mutex_note_owner(m);
            break;
        }
        RT_ASSERT((state & ~(uint32_t)(MUTEX_OWNED | MUTEX_WAITERS)) == 0);
        state_set_locked(&m->queue.lock, state | MUTEX_WAITERS);
        bool handover = mutex_wants_handover(losses, &since);
        bool removable = async && cancel_is_async(rt_self());
        result = mutex_wait_locked(m, deadline, removable, losses == 0, handover);
        if (result == -EINTR) {
            rt_leave(irq);
            rt_signals_act();
            rt_self(); /* a handler may have lost the CPU */
            rt_enter(&irq);
            result = 0; /* the next look may find it free */
        } else if (result != 0) {
            break;
        }
        mutex_linger(m);
        losses++;
    }
    if (result > 0) {
        rt_mutex_note_owner(m);
    }
    rt_leave(irq);
    return result < 0 ? result : 0;
}

int rt_mutex_lock_slow(struct rt_mutex *m, uint64_t deadline)
{
    return mutex_lock_slow(m, deadline, false);
}

int rt_mutex_lock_until(struct rt_mutex *m, uint64_t deadline)
{
    return rt_mutex_lock_fast(m) ? 0 : mutex_lock_slow(m, deadline, false);
}

int rt_mutex_lock_async(struct rt_mutex *m, uint64_t deadline)
{
    return rt_mutex_lock_fast(m) ? 0 : mutex_lock_slow(m, deadline, true);
}

static void mutex_unlock_slow(struct cpu *cpu, struct rt_mutex *m)
{
    RT_ASSERT(rt_is_inside() && cpu == port_cpu_self());
    state_lock(&m->queue.lock, RANK_WAITQ);
    struct thread *t = waitq_pop_inline_locked(&m->queue);
    uint32_t state = MUTEX_FREE;
    RT_ASSERT(t == NULL || t->wait_kind != KIND_OWNS);
    if (t != NULL && t->wait_kind == KIND_WANTS_HANDOVER) {
        t->wait_kind = KIND_OWNS;
        state = MUTEX_OWNED | mutex_waiters_locked(m);
    } else if (t != NULL && rt_is_pinned() && !MUTANT(MUTEX_HIDES)) {
        state = mutex_waiters_locked(m);
    }
    state_unlock_to(&m->queue.lock, RANK_WAITQ, state); /* ORDER(mutex) */
    if (t != NULL && !MUTANT(MUTEX_DROP)) {
        rt_wake(cpu, t, PIRN_WHY_WAKE);
    }
}

void rt_mutex_unlock_irqoff(struct cpu *cpu, struct rt_mutex *m)
{
    if (!rt_mutex_unlock_fast(m)) {
        mutex_unlock_slow(cpu, m);
    }
}

void rt_mutex_unlock_slow(struct rt_mutex *m)
{
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    mutex_unlock_slow(cpu, m);
    rt_leave_woken(irq);
}

#ifdef PIRN_DEBUG
/* Who locked it before the runtime started, or without being known, is not noted. */
void rt_mutex_check_owner(const struct rt_mutex *m)
{
    bool has;
    const struct thread *self = rt_current(&has), *owner = m->owner;
    if (!rt_mutex_is_locked(m)) {
        RT_PANIC("a mutex is unlocked that is not locked: %p", (const void *)m);
    }
    if (has && owner != NULL && owner != self) {
        char who[64];
        rt_describe_thread(owner, who, sizeof(who));
        RT_PANIC("a mutex is unlocked that the caller has not locked, but thread %s: %p", who,
                 (const void *)m);
    }
}
#endif

void rt_mutex_unlock(struct rt_mutex *m)
{
    if (!rt_mutex_unlock_fast(m)) {
        rt_mutex_unlock_slow(m);
    }
}
