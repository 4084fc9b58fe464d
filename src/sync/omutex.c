/* SPDX-License-Identifier: MIT */
/*
 * omutex.c - mutexes that know their owner: robust ones (robust.c handles the end of an owner),
 * ones with priority inheritance, and ones with a priority ceiling. Robust goes together with
 * either of the other two.
 *
 * word: the index of the owner (0: nobody), OM_WAITERS, OM_DIED. Two owners stand for special
 * states: OM_LOST (not recoverable), OM_GONE (the owner of a mutex that is not robust has ended).
 *
 * Invariants:
 *   1. A thread that is about to queue sets OM_WAITERS under the object's lock, while the word has
 *      an owner. So the unlock that ends that ownership fails to clear the word at once, takes the
 *      lock and finds the waiter. The bit may be set without a waiter after a timeout, until the
 *      next unlock.
 *   2. With waiters the mutex is handed over, to the first one; nobody overtakes. wait_kind tells
 *      the waiter whether the last owner died (OM_DIED).
 *   3. The owner has the mutex on its own list `held`, which no other thread touches: a waiter that
 *      was handed the mutex links it when it resumes.
 *   4. The write that gives up the word is the last access of an unlock to the mutex, when it
 *      becomes free; the next owner may destroy and free it. When it is handed over, the last
 *      access comes before the new owner is made ready. Only the step to OM_LOST writes the lock
 *      after the word; rt_omutex_destroy waits for that.
 *   5. Only the holder of the mutex changes m->ceiling.
 *   6. While there is a group (prio.h), an owner's word has OM_WAITERS, even if the queue is empty:
 *      the leader may have timed out and left the queue, and not yet left the group. Without the
 *      bit, an unlock would leave the group with a thread that does not own the mutex.
 *
 * Locks: the object's lock is the queue's (RANK_WAITQ); where priorities are concerned, the prio
 * lock (RANK_PRIO), and the queue's lock inside it.
 */
#include <errno.h>

#include "../trace/trace.h"
#include "cancel.h"
#include "id.h"
#include "mutant.h"
#include "omutex.h"
#include "wake.h"

enum { KIND_WAITS, KIND_OWNS, KIND_OWNS_DIED, KIND_LOST };

ALWAYS_INLINE bool om_has_prio(const struct rt_omutex *m)
{
    return (m->kind & (OM_INHERIT | OM_PROTECT)) != 0;
}

/* For assertions: does the caller hold what om_lock takes, and the word? */
UNUSED ALWAYS_INLINE bool om_is_held(const struct rt_omutex *m)
{
    return om_has_prio(m) ? lockrank_is_held(RANK_PRIO) : state_is_held(&m->queue.lock, RANK_WAITQ);
}

UNUSED ALWAYS_INLINE bool om_is_owned(const struct rt_omutex *m, const struct thread *self)
{
    return (at_peek(&m->word) & OM_OWNER) == self->index;
}

static void om_lock(struct rt_omutex *m)
{
    if (om_has_prio(m)) {
        prio_lock();
    } else {
        state_lock(&m->queue.lock, RANK_WAITQ);
    }
}

static void om_unlock(struct rt_omutex *m)
{
    if (om_has_prio(m)) {
        prio_unlock();
    } else {
        state_unlock(&m->queue.lock, RANK_WAITQ);
    }
}

/* Under om_lock: also the queue's lock, if that is another one. */
static void om_queue_lock(struct rt_omutex *m)
{
    RT_ASSERT(om_is_held(m));
    if (om_has_prio(m)) {
        state_lock(&m->queue.lock, RANK_WAITQ);
    }
}

static void om_queue_unlock(struct rt_omutex *m)
{
    RT_ASSERT(state_is_held(&m->queue.lock, RANK_WAITQ));
    if (om_has_prio(m)) {
        state_unlock(&m->queue.lock, RANK_WAITQ);
    }
}

void rt_omutex_init(struct rt_omutex *m, uint32_t kind, uint32_t ceiling)
{
    *m = (struct rt_omutex){.kind = kind};
    if (kind & OM_PROTECT) {
        at_init(&m->ceiling, ceiling);
    }
    at_init(&m->word, 0u);
    at_init(&m->queue.lock.word, 0u);
}

int rt_omutex_destroy(struct rt_omutex *m)
{
    unsigned long irq;
    rt_self();
    rt_enter(&irq);
    state_lock(&m->queue.lock, RANK_WAITQ);
    uint32_t owner = at_load_rlx(&m->word) & OM_OWNER;
    state_unlock(&m->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return owner != 0 && owner != OM_LOST ? -EBUSY : 0;
}

/* ---- the owner's list, and the ceiling that follows from it ---- */

/* 0 for one that has none. */
ALWAYS_INLINE uint32_t om_ceiling(struct rt_omutex *m)
{
    return m->kind & OM_PROTECT ? at_load_rlx(&m->ceiling) : 0;
}

static void held_push(struct thread *self, struct rt_omutex *m)
{
    RT_ASSERT(om_is_owned(m, self));
    m->next = self->held;
    self->held = m;
    if (om_ceiling(m) > self->ceiling) {
        prio_set_ceiling(self, om_ceiling(m));
    }
}

static void held_remove(struct thread *self, struct rt_omutex *m)
{
    struct rt_omutex **at = &self->held;
    RT_ASSERT(om_is_owned(m, self));
    while (*at != m) {
        RT_ASSERT((*at)->next != NULL); /* it is on the list */
        at = &(*at)->next;
    }
    *at = m->next;
}

void rt_omutex_ceiling_changed(struct thread *self)
{
    uint32_t ceiling = 0;
    for (struct rt_omutex *m = self->held; m != NULL; m = m->next) {
        ceiling = om_ceiling(m) > ceiling ? om_ceiling(m) : ceiling;
    }
    if (ceiling != self->ceiling && !MUTANT(CEILING_STAY)) {
        prio_set_ceiling(self, ceiling);
    }
}

/* ---- lock ---- */

/* The word has no owner: take it as it is. With release order, too: a thread that finds the owner
 * there reads its priority. 0, -EOWNERDEAD, -ENOTRECOVERABLE, -EBUSY. */
static int om_try(struct rt_omutex *m, struct thread *self)
{
    uint32_t word = at_load_rlx(&m->word);
    while ((word & OM_OWNER) == 0) {
        if (at_cas_acq_rel(&m->word, &word, word | self->index)) { /* ORDER(mutex) */
            held_push(self, m);
            return word & OM_DIED ? -EOWNERDEAD : 0;
        }
    }
    return (word & OM_OWNER) == OM_LOST ? -ENOTRECOVERABLE : -EBUSY;
}

static bool om_forbidden(struct rt_omutex *m, const struct thread *self)
{
    return (m->kind & OM_PROTECT) && rt_thread_base(self) > om_ceiling(m);
}

int rt_omutex_trylock(struct rt_omutex *m)
{
    struct thread *self = rt_identity();
    return unlikely(om_forbidden(m, self)) ? -EINVAL : om_try(m, self);
}

/* Under om_lock: set OM_WAITERS, and return the owner; or return 0 or OM_LOST: there is no owner to
 * wait for. */
static uint32_t om_mark_locked(struct rt_omutex *m)
{
    uint32_t word = at_load_acq(&m->word); /* ORDER(mutex) */
    RT_ASSERT(om_is_held(m));
    for (;;) {
        uint32_t owner = word & OM_OWNER;
        if (owner == 0 || owner == OM_LOST || (word & OM_WAITERS) ||
            at_cas_acq_rel(&m->word, &word, word | OM_WAITERS)) { /* ORDER(mutex) */
            return owner;
        }
    }
}

/* Queue behind `owner`. The lock is released. */
static int om_wait_locked(struct rt_omutex *m, struct thread *self, uint32_t owner,
                          uint64_t deadline, bool removable)
{
    struct prio_wait wait = {.queue = &m->queue, .leader = &m->leader};
    struct waitq_options options = {.deadline = deadline,
                                    .object = m,
                                    .reason = WAIT_MUTEX,
                                    .kind = KIND_WAITS,
                                    .removable = removable,
                                    .interruptible = rt_signals,
                                    .rank = RANK_WAITQ};
    RT_ASSERT(om_is_held(m) && (at_peek(&m->word) & OM_WAITERS));
    if (m->kind & OM_INHERIT) {
        prio_wait_begin_locked(&wait, self, owner != OM_GONE ? id_thread(owner) : NULL);
    }
    if (om_has_prio(m)) {
        om_queue_lock(m);
        prio_unlock();
    }
    int error = waitq_block_locked(&m->queue, &options);
    RT_ASSERT(error != -ETIMEDOUT || deadline != UINT64_MAX);
    RT_ASSERT((error == 0) == (self->wait_kind != KIND_WAITS));
    if (error != 0 && (m->kind & OM_INHERIT)) {
        prio_lock();
        prio_wait_end_locked(self);
        prio_unlock();
    }
    return error;
}

static COLD int om_lock_slow(struct rt_omutex *m, struct thread *self, uint64_t deadline,
                             bool async)
{
    unsigned long irq;
    int error = -EBUSY;
    RT_ASSERT(rt_may_wait(WAIT_MUTEX, m) && lockrank_none_held());
    rt_self();
    while (error == -EBUSY) {
        rt_self(); /* a handler, by rt_signals_act or when the last round left, may have lost the
                      CPU */
        rt_enter(&irq);
        om_lock(m);
        uint32_t owner = om_mark_locked(m);
        if (owner == 0 || owner == OM_LOST) {
            om_unlock(m);
            rt_leave(irq);
            error = om_try(m, self);
            continue;
        }
        trace_contend(port_cpu_self(), WAIT_MUTEX, m);
        error = om_wait_locked(m, self, owner, deadline, async && cancel_is_async(self));
        uint8_t kind = self->wait_kind;
        rt_leave(irq);
        if (error == -EINTR) {
            rt_signals_act();
            error = -EBUSY;
            continue;
        }
        if (error != 0) {
            return error;
        }
        if (kind == KIND_LOST) {
            return -ENOTRECOVERABLE;
        }
        held_push(self, m);
        return kind == KIND_OWNS_DIED ? -EOWNERDEAD : 0;
    }
    return error;
}

static int om_get(struct rt_omutex *m, struct thread *self, uint64_t deadline, bool async)
{
    int error = om_try(m, self);
    return likely(error != -EBUSY) ? error : om_lock_slow(m, self, deadline, async);
}

int rt_omutex_lock_unlimited(struct rt_omutex *m, uint64_t deadline)
{
    return om_get(m, rt_identity(), deadline, false);
}

int rt_omutex_lock_until(struct rt_omutex *m, uint64_t deadline)
{
    struct thread *self = rt_identity();
    if (unlikely(om_forbidden(m, self))) {
        return -EINVAL;
    }
    return om_get(m, self, deadline, true);
}

/* ---- unlock ---- */

/* Hand over to t, which was unlinked; `died`: OM_DIED, or 0. */
static void om_give_locked(struct rt_omutex *m, struct thread *self, struct thread *t,
                           uint32_t died)
{
    uint32_t waiters = waitq_empty_locked(&m->queue) ? 0 : OM_WAITERS;
    RT_ASSERT(om_is_owned(m, self) && t->wait_kind == KIND_WAITS);
    t->wait_kind = died ? KIND_OWNS_DIED : KIND_OWNS;
    om_queue_unlock(m);
    if (m->kind & OM_INHERIT) {
        prio_pass_locked(&m->leader, self, t);
        waiters |= m->leader != 0 ? OM_WAITERS : 0; /* invariant 6 */
    }
    if (om_ceiling(m) > t->ceiling) {
        prio_set_ceiling_locked(t, om_ceiling(m));
    }
    at_store_rel(&m->word, t->index | waiters | died); /* ORDER(mutex) */
}

/* Under om_lock: hand the mutex over. The new owner; NULL if nobody waits: OM_WAITERS is clear. */
static struct thread *om_next_locked(struct rt_omutex *m, struct thread *self, uint32_t died)
{
    om_queue_lock(m);
    struct thread *t = waitq_pop_locked(&m->queue);
    if (t != NULL) {
        om_give_locked(m, self, t, died);
        return t;
    }
    om_queue_unlock(m);
    if (m->kind & OM_INHERIT) {
        prio_pass_locked(&m->leader, self, NULL);
        RT_ASSERT(m->leader == 0);
    }
    RT_ASSERT(om_is_owned(m, self));
    at_store_rlx(&m->word, self->index);
    return NULL;
}

void rt_omutex_release_irqoff(struct cpu *cpu, struct rt_omutex *m, struct thread *self,
                              uint32_t died)
{
    struct thread *t;
    uint32_t mine = self->index;
    RT_ASSERT(rt_is_inside() && cpu == port_cpu_self());
    RT_ASSERT(died == 0 || (m->kind & OM_ROBUST));
    do {
        om_lock(m);
        t = om_next_locked(m, self, died);
        om_unlock(m);
        if (t != NULL) {
            if (!MUTANT(OMUTEX_DROP)) {
                rt_wake(cpu, t, PIRN_WHY_HANDOFF);
            }
            return;
        }
        mine = self->index;
    } while (!at_cas_rel(&m->word, &mine, died)); /* ORDER(mutex) */
}

/* Unlocked in the state that a dead owner left: nobody can lock it any more. */
static void om_lose_irqoff(struct cpu *cpu, struct rt_omutex *m, struct thread *self)
{
    struct list woken;
    struct thread *t;
    list_init(&woken);
    om_lock(m);
    RT_ASSERT(om_is_owned(m, self) && (m->kind & OM_ROBUST));
    for (;;) {
        om_queue_lock(m);
        t = waitq_pop_locked(&m->queue);
        om_queue_unlock(m);
        if (t == NULL) {
            break;
        }
        RT_ASSERT(t->wait_kind == KIND_WAITS);
        t->wait_kind = KIND_LOST;
        if (m->kind & OM_INHERIT) {
            prio_wait_end_locked(t);
        }
        list_push_back(&woken, &t->wait_link);
    }
    if (m->kind & OM_INHERIT) {
        prio_pass_locked(&m->leader, self, NULL);
    }
    at_store_rel(&m->word, OM_LOST); /* ORDER(mutex) */
    om_unlock(m);
    rt_wake_list(cpu, &woken, PIRN_WHY_WAKE, RT_IRQ_STAY);
}

/* The ceiling of the caller falls when the mutex is free: it may then wait for the CPU. */
static void om_unlock_irqoff(struct cpu *cpu, struct rt_omutex *m, struct thread *self)
{
    uint32_t mine = self->index;
    held_remove(self, m);
    if (unlikely(!at_cas_rel(&m->word, &mine, 0u))) { /* ORDER(mutex) */
        RT_ASSERT((mine & OM_OWNER) == self->index);
        if (mine & OM_DIED) {
            om_lose_irqoff(cpu, m, self);
        } else {
            rt_omutex_release_irqoff(cpu, m, self, 0);
        }
    }
}

void rt_omutex_unlock_irqoff(struct cpu *cpu, struct rt_omutex *m)
{
    struct thread *self = cpu != NULL ? cpu->current : rt_identity();
    bool protect = m->kind & OM_PROTECT;
    RT_ASSERT(rt_is_inside() && cpu == port_cpu_self());
    om_unlock_irqoff(cpu, m, self);
    if (protect) {
        rt_omutex_ceiling_changed(self);
    }
}

/* A user thread that has lost its CPU gets one before it enters the runtime. Inside, it would be
 * switched with interrupts disabled twice, and `cpu` would stay NULL. */
void rt_omutex_unlock(struct rt_omutex *m)
{
    unsigned long irq;
    rt_identity();
    struct cpu *cpu = rt_enter(&irq);
    rt_omutex_unlock_irqoff(cpu, m);
    rt_leave_woken(irq);
}
