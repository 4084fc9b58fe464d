/* SPDX-License-Identifier: MIT */
/*
 * prio.c - see prio.h.
 *
 * Raising walks up: a waiter's priority is carried from owner to owner until one has it already.
 * Everything else recomputes: the owner's maximum is computed again; if it changes, that of the
 * next owner, for whose object this owner waits, and so on. A walk ends: raising only increases
 * priorities, and stops where it does not; recomputing stops where nothing changes, and in a cycle
 * (a deadlock of the program) each round either leaves the priorities unchanged or lowers them.
 */
#include "prio.h"

#include <errno.h>

#include "id.h"
#include "mutant.h"
#include "runtime.h"
#include "wake.h"

static spinlock_t lock;

void prio_lock(void)
{
    spin_lock(&lock, RANK_PRIO);
}

void prio_unlock(void)
{
    spin_unlock(&lock, RANK_PRIO);
}

void prio_reset(void)
{
    at_init(&lock.word, 0u);
}

void prio_forked(struct thread *self)
{
    unsigned base = rt_thread_base(self);
    self->boosters = NULL;
    at_store_rlx(&self->priority, base > self->ceiling ? base : self->ceiling);
}

/* NULL, too, if the leader is not in this process: it is the child of a fork. */
static struct prio_wait *group_of(const uint32_t *leader)
{
    return *leader != 0 ? id_thread(*leader)->prio_wait : NULL;
}

static void group_unlink(struct prio_wait *group)
{
    if (group->owner == NULL) {
        return;
    }
    struct prio_wait **at = &group->owner->boosters;
    while (*at != group) {
        at = &(*at)->next;
    }
    *at = group->next;
}

static void group_link(struct prio_wait *group, struct thread *owner)
{
    group->owner = owner;
    if (owner != NULL) {
        group->next = owner->boosters;
        owner->boosters = group;
    }
}

/* The leader has gone, and is not queued any more: the first in the queue leads. */
static void group_move(struct prio_wait *from)
{
    struct thread *owner = from->owner;
    group_unlink(from);
    state_lock(&from->queue->lock, RANK_WAITQ);
    struct thread *first = waitq_peek_locked(from->queue);
    state_unlock(&from->queue->lock, RANK_WAITQ);
    *from->leader = first != NULL ? first->index : 0;
    if (first != NULL) {
        group_link(first->prio_wait, owner);
    }
}

static unsigned group_top(struct prio_wait *group)
{
    state_lock(&group->queue->lock, RANK_WAITQ);
    struct thread *first = waitq_peek_locked(group->queue);
    unsigned top = first != NULL ? first->wait_priority : 0;
    state_unlock(&group->queue->lock, RANK_WAITQ);
    return top;
}

static unsigned prio_wanted(struct thread *t)
{
    unsigned base = rt_thread_base(t);
    unsigned top = base > t->ceiling ? base : t->ceiling;
    for (struct prio_wait *group = t->boosters; group != NULL; group = group->next) {
        unsigned waiting = group_top(group);
        top = waiting > top ? waiting : top;
    }
    return top;
}

/* t's effective priority is p. Returns the thread whose priority depends on it, the owner of the
 * object for which t waits, or NULL. */
static struct thread *prio_store(struct thread *t, unsigned p)
{
    at_store_rlx(&t->priority, p);
    if (POLICY_HAS(requeue) && !(t->flags & THREAD_FOREIGN)) {
        RT_POLICY.requeue(t);
    }
    struct prio_wait *w = t->prio_wait;
    if (w == NULL || MUTANT(PRIO_ONE_LINK)) {
        return NULL;
    }
    state_lock(&w->queue->lock, RANK_WAITQ);
    waitq_reorder_locked(w->queue, t);
    state_unlock(&w->queue->lock, RANK_WAITQ);
    struct prio_wait *group = group_of(w->leader);
    return group != NULL ? group->owner : NULL;
}

static void prio_raise(struct thread *t, unsigned p)
{
    while (t != NULL && rt_thread_priority(t) < p) {
        t = prio_store(t, p);
    }
}

static void prio_update(struct thread *t)
{
    while (t != NULL) {
        unsigned p = prio_wanted(t);
        if (p == rt_thread_priority(t)) {
            return;
        }
        t = prio_store(t, p);
    }
}

void prio_wait_begin_locked(struct prio_wait *w, struct thread *self, struct thread *owner)
{
    self->prio_wait = w;
    if (group_of(w->leader) == NULL) {
        *w->leader = self->index;
        group_link(w, owner);
    }
    prio_raise(owner, rt_thread_priority(self));
}

void prio_wait_end_locked(struct thread *t)
{
    struct prio_wait *w = t->prio_wait;
    struct prio_wait *group = group_of(w->leader);
    struct thread *owner = group != NULL ? group->owner : NULL;
    if (group == w) {
        group_move(w);
    }
    t->prio_wait = NULL;
    if (owner != NULL && !MUTANT(PRIO_STAY)) {
        prio_update(owner);
    }
}

void prio_pass_locked(uint32_t *leader, struct thread *from, struct thread *to)
{
    if (to != NULL) {
        struct prio_wait *w = to->prio_wait;
        if (w != NULL && group_of(leader) == w) {
            group_move(w);
        }
        to->prio_wait = NULL;
    }
    struct prio_wait *group = group_of(leader);
    if (group != NULL) {
        group_unlink(group);
        group_link(group, to);
    }
    if (to == NULL) {
        *leader = 0;
    }
    prio_update(to);
    prio_update(from);
}

void prio_orphan_locked(uint32_t *leader, struct thread *from)
{
    struct prio_wait *group = group_of(leader);
    if (group != NULL) {
        group_unlink(group);
        group_link(group, NULL);
    }
    prio_update(from);
}

void prio_set_ceiling_locked(struct thread *t, unsigned ceiling)
{
    t->ceiling = (uint16_t)ceiling;
    prio_update(t);
}

void prio_set_ceiling(struct thread *t, unsigned ceiling)
{
    unsigned long irq;
    rt_enter(&irq);
    prio_lock();
    prio_set_ceiling_locked(t, ceiling);
    prio_unlock();
    rt_leave(irq);
}

void rt_thread_set_base(struct thread *t, unsigned priority)
{
    unsigned long irq;
    rt_self();
    rt_enter(&irq);
    prio_lock();
    at_store_rlx(&t->base_priority, priority);
    prio_update(t);
    prio_unlock();
    rt_leave_woken(irq);
}

/* A policy that is not told of changes has slices at most (fair). */
int rt_sched_valid(const struct sched_params *params)
{
    bool weighs = params->weight != 0 && params->weight != SCHED_WEIGHT_DEFAULT;
    bool plain = params->class == SCHED_CLASS_OTHER && !weighs;
    bool has = rt_has_classes() && POLICY_HAS(requeue) && (RT_WEIGHTS || !weighs);
    return plain || has ? 0 : -ENOTSUP;
}

struct sched_params rt_thread_sched(const struct thread *t)
{
    return (struct sched_params){
        .class = sched_class_of(t), .priority = rt_thread_base(t), .weight = sched_weight_of(t)};
}

void rt_thread_set_sched(struct thread *t, const struct sched_params *params, bool tail)
{
    unsigned long irq;
    uint32_t attr = sched_attr_of(params);
    rt_self();
    rt_enter(&irq);
    prio_lock();
    at_store_rlx(&t->sched.attr, attr | (tail ? SCHED_TO_TAIL : 0));
    at_store_rlx(&t->base_priority, params->priority);
    prio_update(t);
    if (POLICY_HAS(requeue)) {
        RT_POLICY.requeue(t); /* for the class and the weight, and for the tail */
    }
    at_store_rlx(&t->sched.attr, attr);
    prio_unlock();
    rt_leave_woken(irq);
    if (tail && params->class != SCHED_CLASS_OTHER && t == rt_self()) {
        rt_yield(); /* at the tail it lets its equals run */
    }
}
