/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - plain mutex.
 *
 * word: FREE, HELD, CONTENDED (held, and somebody may wait).
 *
 * Unlock sets FREE and wakes one waiter, which competes with arrivals: handing over always would
 * make every thread that needs the mutex wait for a switch (a convoy). A waiter that has lost for
 * RT_MUTEX_HANDOVER_NS gets it handed over.
 *
 * Invariants:
 *   1. A waiter is queued only after it saw or set CONTENDED under the queue lock; so the unlock
 * that ends that ownership comes to the queue lock and finds it.
 *   2. A woken waiter takes the mutex only as CONTENDED: others may still wait, and the unlock
 * after it wakes the next.
 *   3. Handed over: word stays CONTENDED while the ownership passes; wait_kind tells the waiter.
 *   4. The write of FREE is the last access of an unlock to the mutex: its next owner may destroy
 * it at once (POSIX, pthread_mutex_destroy). Lock: queue.lock (RANK_WAITQ).
 */
#include <errno.h>

#include "mutant.h"
#include "sync.h"

enum { KIND_COMPETES, KIND_WANTS_HANDOVER, KIND_OWNS };

#define SPIN_ROUNDS 100u
#define CLOCK_EVERY 16u

void rt_mutex_init(struct rt_mutex *m)
{
    *m = (struct rt_mutex){0};
    at_init(&m->word, (uint32_t)MUTEX_FREE);
    at_init(&m->queue.lock.word, 0u);
}

int rt_mutex_trylock(struct rt_mutex *m)
{
    return rt_mutex_lock_fast(m) ? 0 : -EBUSY;
}

/* Another CPU may be about to unlock: a short look costs less than two switches. */
static bool mutex_spin(struct rt_mutex *m)
{
    for (unsigned round = 0; rt.ncpu > 1 && round < SPIN_ROUNDS; round++) {
        uint32_t word = at_load_rlx(&m->word);
        if (word == MUTEX_FREE && rt_mutex_trylock(m) == 0) {
            return true;
        }
        if (word == MUTEX_CONTENDED) {
            return false;
        }
        port_relax(0);
    }
    return false;
}

/* Wait until woken. 1: the mutex was handed over; 0: compete again; -ETIMEDOUT. */
static int mutex_wait_locked(struct rt_mutex *m, uint64_t deadline, uint64_t since, uint32_t losses)
{
    /* Reading the clock costs more than the rest: at the 1st, 2nd, 4th, 8th loss, then at every
     * 16th. */
    bool look = losses != 0 && ((losses & (losses - 1)) == 0 || losses % CLOCK_EVERY == 0);
    bool handover = look && port_now() - since >= RT_MUTEX_HANDOVER_NS;
    struct waitq_how how = {.deadline = deadline,
                            .object = m,
                            .reason = WAIT_MUTEX,
                            .kind = handover ? KIND_WANTS_HANDOVER : KIND_COMPETES,
                            .front = losses != 0,
                            .rank = RANK_WAITQ};
    int error = waitq_block_locked(&m->queue, &how);
    return error != 0 ? error : rt_self()->wait_kind == KIND_OWNS;
}

static COLD int mutex_lock_slow(struct rt_mutex *m, uint64_t deadline)
{
    uint64_t since = 0;
    uint32_t losses = 0;
    unsigned long irq;
    rt_self();
    if (mutex_spin(m)) {
        return 0;
    }
    rt_enter(&irq);
    int result = 0;
    for (;;) {
        spin_lock(&m->queue.lock, RANK_WAITQ);
        if (at_xchg_acq(&m->word, (uint32_t)MUTEX_CONTENDED) == MUTEX_FREE) { /* ORDER(mutex) */
            spin_unlock(&m->queue.lock, RANK_WAITQ);
            break;
        }
        result = mutex_wait_locked(m, deadline, since, losses);
        if (result != 0) {
            break;
        }
        since = losses++ != 0 ? since : port_now();
    }
    rt_leave(irq);
    return result < 0 ? result : 0;
}

int rt_mutex_lock_until(struct rt_mutex *m, uint64_t deadline)
{
    if (rt_mutex_lock_fast(m)) {
        return 0;
    }
    return mutex_lock_slow(m, deadline);
}

/* The mutex is ours, HELD, and somebody may wait. The queue lock goes before the mutex (invariant
 * 4); who queues in between marks it CONTENDED again: then once more. */
static COLD void mutex_unlock_slow(struct cpu *cpu, struct rt_mutex *m)
{
    bool done;
    do {
        uint32_t held = MUTEX_HELD;
        spin_lock(&m->queue.lock, RANK_WAITQ);
        struct thread *t = waitq_pop_locked(&m->queue);
        bool hand_over = t != NULL && t->wait_kind == KIND_WANTS_HANDOVER;
        if (hand_over) {
            t->wait_kind = KIND_OWNS;
        }
        at_store_rlx(&m->word, hand_over ? (uint32_t)MUTEX_CONTENDED : held);
        spin_unlock(&m->queue.lock, RANK_WAITQ);
        done = hand_over || at_cas_rel(&m->word, &held, (uint32_t)MUTEX_FREE); /* ORDER(mutex) */
        if (t != NULL && !MUTANT(MUTEX_DROP)) {
            rt_wake(cpu, t, PIRN_WHY_WAKE);
        }
    } while (!done);
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
    rt_leave(irq);
}

void rt_mutex_unlock(struct rt_mutex *m)
{
    if (!rt_mutex_unlock_fast(m)) {
        rt_mutex_unlock_slow(m);
    }
}
