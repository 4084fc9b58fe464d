/* SPDX-License-Identifier: MIT */
/*
 * thread_join.c - joining and detaching.
 *
 * Callers: both APIs, in user threads and foreign kernel threads, outside the runtime.
 *
 * Invariants: those of thread_exit.c, where exit and join meet. Besides:
 *   1. Under the join lock, with JOIN_DONE not set, the thread lives and its descriptor is valid.
 *   2. At most one thread waits in t->join (JOIN_WAITING). A second joiner, and a detacher, get
 *      -EINVAL.
 *   3. A wait that ends without the thread's end (time-out, cancellation) clears JOIN_WAITING under
 *      the lock. If the thread has ended meanwhile, the join succeeds.
 * Locks: the join lock (RANK_JOIN).
 */
#include "../trace/trace.h"
#include "block.h"
#include "cancel.h"
#include "id.h"
#include "port_signals.h"
#include "thread_memory.h"

static NOINLINE void join_await_end_locked(struct thread *t)
{
    state_unlock(&t->join.lock, RANK_JOIN);
    for (unsigned round = 0; at_load_acq(&t->state) != THREAD_EXITED; round++) { /* ORDER(exit) */
        port_relax(round);
    }
}

/* Take the join lock (true), or wait for the end that has begun (false): then the memory is the
 * caller's. */
ALWAYS_INLINE bool join_lock(struct thread *t)
{
    if (at_load_acq(&t->state) == THREAD_EXITED) { /* ORDER(exit) */
        return false;
    }
    state_lock(&t->join.lock, RANK_JOIN);
    if (likely(!(t->join_flags & JOIN_DONE))) {
        return true;
    }
    join_await_end_locked(t);
    return false;
}

ALWAYS_INLINE int join_wait_locked(struct thread *t, struct thread *self, uint64_t deadline,
                                   bool point)
{
    if (t->join_flags & (JOIN_DETACHED | JOIN_WAITING)) {
        state_unlock(&t->join.lock, RANK_JOIN);
        return -EINVAL;
    }
    bool ends = point && cancel_is_due(at_load_rlx(&self->cancel)); /* and will not wait */
    if (!ends && id_join_closes_cycle(self, t) && id_join_refuse(self, t)) {
        state_unlock(&t->join.lock, RANK_JOIN);
        return -EDEADLK;
    }
    t->join_flags |= JOIN_WAITING;
    struct waitq_options options = {.deadline = deadline,
                                    .object = t,
                                    .reason = WAIT_JOIN,
                                    .removable = point,
                                    .interruptible = point && rt_signals,
                                    .rank = RANK_JOIN,
                                    .prefer = t};
    int error = waitq_block_inline_locked(port_cpu_self(), &t->join, options);
    if (error != 0 && join_lock(t)) {
        t->join_flags &= (uint8_t)~JOIN_WAITING;
        state_unlock(&t->join.lock, RANK_JOIN);
        return error;
    }
    return 0;
}

ALWAYS_INLINE int join(struct thread *t, void **ret, uint64_t deadline, bool point)
{
    struct thread *self = rt_self();
    if (unlikely(t == self)) {
        return -EDEADLK;
    }
    RT_ASSERT(at_load_acq(&t->state) == THREAD_EXITED || rt_may_wait(WAIT_JOIN, t));
    unsigned long irq = port_irq_save();
    if (at_load_acq(&t->state) != THREAD_EXITED) { /* ORDER(exit) */
        int error = 0;
        id_join_announce(self, t);
        if (likely(join_lock(t))) {
            error = join_wait_locked(t, self, deadline, point);
        }
        id_join_clear(self);
        if (unlikely(error != 0)) {
            rt_leave(irq);
            return error;
        }
    } else if (unlikely(t->join_flags & JOIN_DETACHED)) { /* already joined or detached */
        rt_leave(irq);
        return -EINVAL;
    }
    if (ret != NULL) {
        *ret = t->arg_ret;
    }
    t->join_flags |= JOIN_DETACHED;    /* another join gets an error, not its memory */
    struct cpu *cpu = port_cpu_self(); /* after a wait another one */
    trace_join(cpu, t);
    thread_release(cpu, t);
    rt_leave(irq);
    return 0;
}

int rt_thread_join(struct thread *t, void **ret, uint64_t deadline)
{
    return join(t, ret, deadline, false);
}

int rt_thread_join_point(struct thread *t, void **ret)
{
    return join(t, ret, UINT64_MAX, true);
}

int rt_thread_join_point_until(struct thread *t, void **ret, uint64_t deadline)
{
    return join(t, ret, deadline, true);
}

int rt_thread_tryjoin(struct thread *t, void **ret)
{
    return at_load_acq(&t->state) == THREAD_EXITED ? rt_thread_join(t, ret, 0)
                                                   : -EBUSY; /* ORDER(exit) */
}

int rt_thread_detach(struct thread *t)
{
    rt_self();
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    int error = 0;
    if (join_lock(t)) {
        if (t->join_flags & (JOIN_DETACHED | JOIN_WAITING)) {
            error = -EINVAL; /* the joiner frees it: JOIN_DETACHED beside it would free twice */
        } else {
            t->join_flags |= JOIN_DETACHED;
        }
        state_unlock(&t->join.lock, RANK_JOIN);
    } else if (t->join_flags & JOIN_DETACHED) {
        error = -EINVAL; /* already joined or detached */
    } else {
        t->join_flags |= JOIN_DETACHED;
        thread_release(cpu, t);
    }
    rt_leave(irq);
    return error;
}
