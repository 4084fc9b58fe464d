/* SPDX-License-Identifier: MIT */
/*
 * waitq.h - the way to wait. There is another one only where the hardware has it: line.h.
 *
 * A wait queue is a lock and a list of threads; a zeroed one is valid and empty. Objects (mutex,
 * semaphore, ...) put their own state beside it and change that state under the lock whenever
 * waiters matter.
 *
 *     lock(q);  decide;  waitq_block_locked(q, ...)  or  unlock(q);      (state_lock, state_unlock)
 *     lock(q);  t = waitq_pop_locked(q);  unlock(q);  if (t) rt_wake(cpu, t, why);
 *
 * Invariants:
 *   1. A thread is on at most one queue. It is linked and unlinked under the queue's lock only.
 *   2. waitq_block_locked releases the lock after the thread's context is saved (finish_switch):
 *      a waker that finds the thread on the list may resume it at once.
 *   3. Exactly one party ends a wait: the one that moves park from PARKING or PARKED to WOKEN,
 *      TIMEDOUT or REMOVED. For an untimed wait that is the waker, by unlinking; for a timed one it
 *      is decided by a compare-and-swap (claim).
 *   4. A waiter that was claimed by its timer is still linked when it resumes; it unlinks itself,
 *      under the lock, before waitq_block_locked returns. A waker that meets a claimed waiter
 *      unlinks and skips it. The object is valid meanwhile because the waiter has not returned from
 *      the call that uses it.
 *   5. The order is by priority, then FIFO; waitq_block_locked with WAITQ_FRONT puts a waiter that
 *      has lost a race for the object back to the head of its level. The priority is the effective
 *      one when the wait begins (wait_priority); a caller that changes it later calls
 *      waitq_reorder_locked, which objects with priority inheritance do (prio.h).
 */
#ifndef PIRN_CORE_WAITQ_H
#define PIRN_CORE_WAITQ_H

#include "list.h"
#include "spinlock.h"

struct thread;

struct waitq {
    statelock_t lock;          /* its state belongs to the object */
    _Atomic(uint32_t) leaving; /* (A) for the object: condition variables count timed waiters */
    struct list *first;        /* (lock) circular, NULL = empty: 16 bytes, valid when zero */
};

enum park_state {
    PARK_NONE,
    PARK_PARKING,
    PARK_PARKED,
    PARK_WOKEN,
    PARK_TIMEDOUT,
    PARK_REMOVED,
    PARK_INTERRUPTED
};

/* Beside PARKING and PARKED: the wait is a cancellation point, of a thread that has not disabled
 * cancellation. */
#define PARK_REMOVABLE 8u
/* Likewise: signals end the wait. */
#define PARK_INTERRUPTIBLE 16u
#define PARK_FLAGS (PARK_REMOVABLE | PARK_INTERRUPTIBLE)

/* Can anything but a waker end a wait? */
#define WAITQ_MAY_END (RT_TIMED || RT_CANCEL || PORT_SIGNALS)

struct waitq_options {
    uint64_t deadline;  /* ns of port_now; UINT64_MAX = none */
    const void *object; /* for dumps */
    uint8_t reason;     /* enum wait_reason */
    uint8_t kind;       /* the object's own mark on the waiter */
    bool removable;     /* a cancellation point: a request ends it (cancel.h) */
    bool interruptible; /* signals end it (cancel.h): rt_signals, where the caller deals with it */
    bool front;         /* keep seniority: head of its level */
    enum lockrank rank; /* of q->lock */
    struct thread *
        prefer; /* run this thread next if it is ready here and the policy agrees (join); or NULL */
};

ALWAYS_INLINE bool waitq_empty_locked(const struct waitq *q)
{
    return q->first == NULL;
}

/* Append the caller, give the CPU away, release the lock. Returns 0, -ETIMEDOUT, -ECANCELED
 * (removed) or -EINTR (there are signals for it). The lock is not held on return. Interrupts are
 * disabled (rt_enter) before and after.
 */
int waitq_block_locked(struct waitq *q, const struct waitq_options *options);

/* Unlink the first waiter that still waits; NULL if none. The caller makes it ready with rt_wake,
 * after releasing the lock or under it. */
struct thread *waitq_pop_locked(struct waitq *q);

/* The same for the first waiter whose kind is `kind`. */
struct thread *waitq_pop_kind_locked(struct waitq *q, uint8_t kind);

/* The first n waiters for `object`, as a list through wait_link: as many as there are. */
unsigned waitq_pop_object_locked(struct waitq *q, const volatile void *object, unsigned n,
                                 struct list *out);

/* Those for which `wanted` is true, first to last, as a list. */
void waitq_pop_if_locked(struct waitq *q, bool (*wanted)(const struct thread *t, const void *arg),
                         const void *arg, struct list *out);

/* Unlink all, as a list through wait_link. Returns how many. */
unsigned waitq_pop_all_locked(struct waitq *q, struct list *out);

/* First waiter, without unlinking; NULL if empty. */
struct thread *waitq_peek_locked(const struct waitq *q);

/* t's priority has changed: move t in the queue, behind its equals. Does nothing if t is not linked
 * (any more). */
void waitq_reorder_locked(struct waitq *q, struct thread *t);

/* End another thread's wait from outside, if it has a deadline or is a cancellation point: true if
 * this call ended it; it returns -ECANCELED. */
bool rt_wait_remove(struct thread *t);

/* The same for cancellation points alone; for interruptible waits alone, which return -EINTR: for
 * cancel.c. */
bool waitq_cancel(struct thread *t);
bool waitq_interrupt(struct thread *t);

/* For the timer: claim and make ready. */
void waitq_timeout(struct thread *t);

#endif
