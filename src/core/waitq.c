/* SPDX-License-Identifier: MIT */
/*
 * waitq.c - see waitq.h for the invariants.
 *
 * park, for timed waits and for foreign threads:
 *
 *     PARKING --finish_park--> PARKED --waker, under the lock--> WOKEN
 *        |                        +----timer--> TIMEDOUT, rt_wait_remove--> REMOVED,
 *        |                             waitq_interrupt--> INTERRUPTED
 *        +--one of these three before the context is saved: finish_park makes the thread ready
 *
 * A waker never sees PARKING, because the lock is released after finish_park. Waits of user threads
 * that nothing but a waker can end (no deadline, not removable) do not use park: unlinking under
 * the lock is the claim. PARKING and PARKED of a cancellation point have PARK_REMOVABLE beside
 * them: a request (cancel.h) ends no other waits, whenever it comes. So with PARK_INTERRUPTIBLE and
 * signals.
 */
#include <errno.h>

#include "block.h"
#include "cancel.h"
#include "mutant.h"
#include "port_foreign.h"
#include "wake.h"

ALWAYS_INLINE struct thread *thread_of(struct list *link)
{
    return CONTAINER_OF(link, struct thread, wait_link);
}

void waitq_insert_locked(struct waitq *q, struct thread *t, bool front)
{
    struct list *node = &t->wait_link;
    struct list *after = q->first->prev;
    unsigned limit = t->wait_priority + (front ? 1u : 0u);
    while (thread_of(after)->wait_priority < limit) {
        if (after == q->first) {
            q->first = node;
            after = after->prev;
            break;
        }
        after = after->prev;
    }
    list_insert_between(node, after, after->next);
}

static void waitq_unlink_locked(struct waitq *q, struct thread *t)
{
    struct list *node = &t->wait_link;
    if (node->next == node) {
        q->first = NULL;
        node->next = NULL;
        return;
    }
    if (q->first == node) {
        q->first = node->next;
    }
    list_remove(node);
}

void waitq_reorder_locked(struct waitq *q, struct thread *t)
{
    if (list_linked(&t->wait_link)) {
        waitq_unlink_locked(q, t);
        waitq_link_locked(q, t, false);
    }
}

struct thread *waitq_peek_locked(const struct waitq *q)
{
    return q->first != NULL ? thread_of(q->first) : NULL;
}

/* Unlink t; true if it was still waiting and now belongs to the caller. */
ALWAYS_INLINE bool waitq_take_locked(struct waitq *q, struct thread *t)
{
    waitq_unlink_locked(q, t);
    return waitq_claim_locked(t);
}

struct thread *waitq_pop_locked(struct waitq *q)
{
    while (q->first != NULL) {
        struct thread *t = thread_of(q->first);
        if (waitq_take_locked(q, t)) {
            return t;
        }
    }
    return NULL;
}

struct thread *waitq_pop_kind_locked(struct waitq *q, uint8_t kind)
{
    struct list *link = q->first;
    while (link != NULL) {
        struct thread *t = thread_of(link);
        struct list *next = link->next != q->first ? link->next : NULL;
        if (t->wait_kind == kind && waitq_take_locked(q, t)) {
            return t;
        }
        link = next;
    }
    return NULL;
}

unsigned waitq_pop_object_locked(struct waitq *q, const volatile void *object, unsigned n,
                                 struct list *out)
{
    unsigned found = 0;
    struct list *link = q->first;
    while (link != NULL && found < n) {
        struct thread *t = thread_of(link);
        struct list *next = link->next != q->first ? link->next : NULL;
        if (t->wait_object == object && waitq_take_locked(q, t)) {
            list_push_back(out, &t->wait_link);
            found++;
        }
        link = next;
    }
    return found;
}

void waitq_pop_if_locked(struct waitq *q, bool (*wanted)(const struct thread *t, const void *arg),
                         const void *arg, struct list *out)
{
    struct list *link = q->first;
    while (link != NULL) {
        struct thread *t = thread_of(link);
        struct list *next = link->next != q->first ? link->next : NULL;
        if (wanted(t, arg) && waitq_take_locked(q, t)) {
            list_push_back(out, &t->wait_link);
        }
        link = next;
    }
}

unsigned waitq_pop_all_locked(struct waitq *q, struct list *out)
{
    unsigned n = 0;
    struct thread *t;
    while ((t = waitq_pop_locked(q)) != NULL) {
        list_push_back(out, &t->wait_link);
        n++;
    }
    return n;
}

int waitq_leave(struct waitq *q, struct thread *self, enum lockrank rank)
{
    state_lock(&q->lock, rank);
    if (list_linked(&self->wait_link) && !MUTANT(TIMED_STAY)) {
        waitq_unlink_locked(q, self);
    }
    state_unlock(&q->lock, rank);
    uint32_t end = at_load_acq(&self->park); /* ORDER(park) */
    return end == PARK_TIMEDOUT ? -ETIMEDOUT : end == PARK_INTERRUPTED ? -EINTR : -ECANCELED;
}

/* The claimer of the wait stores READY as its last access to the descriptor (rt_wake). Until then
 * it may have us on a list of its own, or be about to post our permit. */
static void waitq_foreign_settle(struct thread *self)
{
    for (unsigned round = 0; at_load_acq(&self->state) == THREAD_BLOCKED;
         round++) { /* ORDER(park) */
        port_relax(round);
    }
    thread_set_state(self, THREAD_RUNNING);
}

static int waitq_block_foreign(struct waitq *q, struct thread *self,
                               const struct waitq_options *options, uint32_t flags)
{
    uint32_t park = PARK_PARKED | flags;
    at_store_rlx(&self->park, park);
    trace_park(self, true);
    state_unlock(&q->lock, options->rank);
    if (flags && waitq_end_self(self, park)) {
        thread_set_state(self, THREAD_READY);
    }
    while (at_load_acq(&self->park) == park) { /* ORDER(park) */
        port_foreign_park(self, options->deadline);
        if (port_now() >= options->deadline && waitq_claim(self, park, PARK_TIMEDOUT)) {
            thread_set_state(self, THREAD_READY);
        }
    }
    waitq_foreign_settle(self);
    trace_park(self, false);
    return at_load_acq(&self->park) == PARK_WOKEN
               ? 0
               : waitq_leave(q, self, options->rank); /* ORDER(park) */
}

/* A user thread that has lost its CPU in the middle of its own code (carrier.h), and has not asked
 * for one (rt_self). It may hold q's lock, so it cannot queue for a CPU now, and waits like a
 * foreign thread. THREAD_AWAY is set under q's lock, so every thread that finds it in the queue
 * sees the flag; when it is cleared nobody looks any more (waitq_foreign_settle). */
static COLD int waitq_block_away(struct waitq *q, struct thread *self,
                                 const struct waitq_options *options)
{
    uint32_t flags = waitq_flags(self, options);
    self->claimable |= (uint8_t)flags;
    self->flags |= THREAD_AWAY;
    int result = waitq_block_foreign(q, self, options, flags);
    self->flags &= ~(uint32_t)THREAD_AWAY;
    return result;
}

static int waitq_block_without_cpu(struct waitq *q, struct thread *self,
                                   const struct waitq_options *options)
{
    return PORT_CALLS_BLOCK && !(self->flags & THREAD_FOREIGN)
               ? waitq_block_away(q, self, options)
               : waitq_block_foreign(q, self, options, 0);
}

static int waitq_block_timed(struct cpu *cpu, struct waitq *q, struct thread *self,
                             const struct waitq_options *options)
{
    uint32_t flags = waitq_flags(self, options);
    bool earliest = false;
    self->claimable |= (uint8_t)flags;
    at_store_rlx(&self->park, PARK_PARKING | flags);
    if (flags) {
        waitq_end_self(self, PARK_PARKING | flags);
    }
    if (options->deadline != UINT64_MAX) {
        earliest = timer_arm(cpu, &self->timer, options->deadline);
    }
    struct thread *next = waitq_pick_next(cpu, options->prefer);
    if (earliest && next != cpu->idle && !MUTANT(TIMER_QUIET)) {
        port_timer_set(cpu, options->deadline); /* timer.h */
    }
    switch_to(cpu, next, POST_PARK, held_to_post(held_statelock(&q->lock)));
    uint32_t end = at_load_acq(&self->park); /* ORDER(park) */
    if (end != PARK_TIMEDOUT && options->deadline != UINT64_MAX) {
        timer_disarm(&self->timer);
    }
    return end == PARK_WOKEN ? 0 : waitq_leave(q, self, options->rank);
}

int waitq_block_locked(struct waitq *q, const struct waitq_options *options)
{
    struct cpu *cpu = port_cpu_self();
    if (likely((!PORT_FOREIGN || cpu != NULL) && !waitq_may_end(options))) {
        waitq_block_user_locked(cpu, q, *options);
        return 0;
    }
    struct thread *self = !PORT_FOREIGN || cpu != NULL ? cpu->current : port_foreign_self();
    waitq_enter_locked(cpu, q, self, *options, 1);
    int result = !PORT_FOREIGN || cpu != NULL ? waitq_block_timed(cpu, q, self, options)
                                              : waitq_block_without_cpu(q, self, options);
    waitq_entered(self);
    return result;
}

void finish_park(struct cpu *cpu, struct thread *prev, struct held_lock held)
{
    uint32_t flags = prev->claimable & PARK_FLAGS;
    bool parked = waitq_claim(prev, PARK_PARKING | flags, PARK_PARKED | flags);
    held_release(held);
    if (!parked) {
        rt_wake(cpu, prev, PIRN_WHY_WAKE);
    }
}

/* End a wait as `end`, in any phase; only a wait with the flag. The claimer of a PARKED thread
 * makes it ready. */
static bool waitq_end(struct thread *t, enum park_state end, uint32_t flag)
{
    uint32_t seen = PARK_PARKED | flag;
    for (;;) {
        if (at_cas_acq_rel(&t->park, &seen, (uint32_t)end)) { /* ORDER(park) */
            if ((seen & ~PARK_FLAGS) == PARK_PARKED) {
                rt_wake(port_cpu_self(), t, PIRN_WHY_WAKE);
            }
            return true;
        }
        uint32_t state = seen & ~PARK_FLAGS;
        if ((state != PARK_PARKED && state != PARK_PARKING) || (seen & flag) != flag) {
            return false;
        }
    }
}

void waitq_timeout(struct thread *t)
{
    waitq_end(t, PARK_TIMEDOUT, 0);
}

bool rt_wait_remove(struct thread *t)
{
    return waitq_end(t, PARK_REMOVED, 0);
}

bool waitq_cancel(struct thread *t)
{
    return waitq_end(t, PARK_REMOVED, PARK_REMOVABLE);
}

bool waitq_interrupt(struct thread *t)
{
    return waitq_end(t, PARK_INTERRUPTED, PARK_INTERRUPTIBLE);
}
