/* SPDX-License-Identifier: MIT */
/*
 * affinity.c - see affinity.h: the operations of a decorated policy. affinity_place.c chooses the
 * CPU of a consumer that wakes, affinity_learn.c finds out who its producers are.
 *
 * Each CPU has a queue of consumers, beside the policy's ready threads. A consumer is in one or in
 * the other. The next thread of a CPU is the first of its consumers, unless the policy has a more
 * urgent one.
 *
 * Invariants:
 *   1. A queue of consumers, and link, thread and queued of the records in it, are guarded by its
 *      lock. queued is 1 + the number of the CPU exactly while the record is linked there.
 *   2. A consumer's priority is read after `queued` is set and a fence (light). requeue, which is
 *      called when the priority is stored, fences (heavy) before it reads `queued`. So one of them
 *      sees the other: no consumer waits with an old priority. ORDER(requeue)
 *   3. No wake-up is lost. The CPU of a consumer is kicked by its number. Where others may take it,
 *      one of them is kicked, too, if it sleeps: has_work of every CPU counts all such consumers,
 *      so that CPU stays awake until the thread runs, or it takes it. ORDER(idle-wake)
 *   4. A consumer that is taken from its queue runs at once, or is preceded by a more urgent thread
 *      there: then it goes into another CPU's queue (affinity_push), or is enqueued by the policy.
 *      The CPU runs that thread next, so a consumer does not go round the CPUs for ever.
 *   5. Nobody starves: of RT_BYPASS_LIMIT picks in a row one begins with the policy's ready threads
 *      (under the old rule every second one), and so does one after a tick in which consumers went
 *      first.
 *   6. `last` and `ran_on` are hints: written by the CPU when it takes a thread, read by wakers
 *      without order. A stale value costs a wrong place for one wake-up.
 *   7. Under a discipline with classes a CPU that is going to run another thread says how urgent
 *      that is (classes_take), fences, and then looks at its consumers once more. A waker queues a
 *      real-time consumer, fences, and then looks at what the CPU has said. So a consumer never
 *      waits for a less urgent thread of which its waker did not know. ORDER(runs)
 * Locks: a queue's (RANK_RUNQ); never together with one of the policy's.
 */
#include "../core/nodes.h"
#include "affinity_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "classes.h"
#include "handed.h"
#include "mutant.h"
#include "placing.h"
#include "wake.h"

#define IDLE_MOST 1000000u
#define PULL_LOOKS 8u /* consumers of one queue that a CPU compares with its last thread */

struct affinity affinity;

int sched_set_affinity(const char *value, const char **why)
{
    (void)why;
    affinity.rule = (enum affinity_rule)sched_choice(AFFINITY_RULES, value);
    return 0;
}

int sched_set_affinity_idle(const char *value, const char **why)
{
    char *end;
    unsigned long us = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || us > IDLE_MOST) {
        *why = "affinity-idle takes microseconds, 0 to 1000000";
        return -EINVAL;
    }
    affinity.idle_ns = us * 1000;
    return 0;
}

/* ---- one queue ---- */

void affinity_link_locked(struct affinity_cpu *q, struct consumer *c, struct list *before)
{
    RT_ASSERT(at_peek(&c->queued) == q->id + 1);
    list_push_back(before, &c->link);
    at_store_rlx(&q->length, at_load_rlx(&q->length) + 1);
}

struct thread *affinity_unlink_locked(struct affinity_cpu *q, struct consumer *c)
{
    RT_ASSERT(at_peek(&c->queued) == q->id + 1);
    list_remove(&c->link);
    at_store_rlx(&q->length, at_load_rlx(&q->length) - 1);
    at_store_rlx(&c->queued, 0u);
    placing_unlinks_locked(q->id, c->thread);
    return c->thread;
}

static struct consumer *consumer_at(struct list *node)
{
    return CONTAINER_OF(node, struct consumer, link);
}

/* The first one, or the last one; NULL: it is empty. */
static struct thread *take_end(struct affinity_cpu *q, bool first)
{
    struct thread *t = NULL;
    spin_lock(&q->lock, RANK_RUNQ);
    if (!list_empty(&q->consumers)) {
        t = affinity_unlink_locked(q, consumer_at(first ? q->consumers.next : q->consumers.prev));
    }
    spin_unlock(&q->lock, RANK_RUNQ);
    return t;
}

/* Take c out of the queue of whichever CPU it waits in. False: of none. */
static bool take_from_any(struct consumer *c)
{
    bool taken = false;
    for (uint32_t in; !taken && (in = at_load_rlx(&c->queued)) != 0;) {
        struct affinity_cpu *q = &affinity.cpus[in - 1];
        spin_lock(&q->lock, RANK_RUNQ);
        taken = at_load_rlx(&c->queued) == in;
        if (taken) {
            affinity_unlink_locked(q, c);
        }
        spin_unlock(&q->lock, RANK_RUNQ);
    }
    return taken;
}

/* ---- a thread runs ---- */

/* Consumers go by urgency; that of the first one. */
static uint32_t first_urgency(struct affinity_cpu *q)
{
    uint32_t urgency = URGENCY_IDLE;
    spin_lock(&q->lock, RANK_RUNQ);
    if (!list_empty(&q->consumers)) {
        urgency = affinity_urgency(consumer_at(q->consumers.next)->thread);
    }
    spin_unlock(&q->lock, RANK_RUNQ);
    return urgency;
}

/* The CPU has said what it runs. Has another CPU, which did not know, queued a more urgent consumer
 * here meanwhile (invariant 7)? Or has the priority of the consumer that it runs (else NULL)
 * changed since the policy was asked, when it was `asked`? The thread that changed it has looked
 * for the CPU that runs the consumer, or this CPU sees the change. */
static void look_again(struct cpu *self, const struct thread *consumer, uint32_t asked)
{
    struct affinity_cpu *q = affinity_of(self);
    uint32_t runs = classes_urgency_at(self->id);
    bool same = runs == q->said && consumer == NULL;
    q->said = runs;
    if (likely(same) || runs == URGENCY_IDLE) {
        return;
    }
    at_fence_seq(); /* ORDER(runs) */
    bool changed = consumer != NULL && (asked != runs || affinity_urgency(consumer) != runs);
    if ((changed && !MUTANT(AFFINITY_CHANGED)) ||
        (at_load_rlx(&q->length) != 0 && first_urgency(q) > runs && !MUTANT(AFFINITY_BEGUN))) {
        rt_preempt_cpu(self, self->id);
    }
}

static void note_last(struct cpu *self, struct thread *t)
{
    struct affinity_cpu *q = affinity_of(self);
    at_store_rlx(&q->last, t->id_slot);
    at_store_rlx(&q->last_life, t->generation);
    at_store_rlx(&t->id_slot->ran_on, self->id + 1);
}

/* The CPU takes t from the policy: it is its last thread from now on. NULL: the CPU has no thread,
 * or its thread goes on. Returns t. */
static struct thread *takes(struct cpu *self, struct thread *t)
{
    if (t != NULL) {
        note_last(self, t);
    }
    if (sched_has_classes()) {
        look_again(self, NULL, URGENCY_IDLE);
    }
    return t;
}

/* A consumer that was taken out has a place again. */
static void moved(struct cpu *self, uint64_t ticket, struct pirn_kick kick)
{
    ready_given(self, ticket, kick);
    if (kick.cpu != PIRN_KICK_NONE) {
        rt_kick(self, kick);
    }
}

/* t, taken from a queue of consumers, is to run next. NULL: a more urgent thread is ready, and t
 * waits for another producer's CPU now, or is in the policy's queue. */
static struct thread *run_consumer(struct cpu *self, struct thread *t)
{
    uint32_t asked = affinity_urgency(t);
    if (affinity.way->run == NULL || affinity.way->run(self, t)) {
        note_last(self, t);
        if (sched_has_classes()) {
            look_again(self, t, asked);
        }
        return t;
    }
    struct pirn_kick kick;
    uint64_t ticket = ready_move(t);
    if (!affinity_push(self, t, &kick)) {
        kick = affinity.base.enqueue(self, t, PIRN_WHY_WAKE);
    }
    moved(self, ticket, kick);
    return NULL;
}

static struct thread *run_own(struct cpu *self)
{
    struct thread *t = take_end(affinity_of(self), true);
    return t != NULL ? run_consumer(self, t) : NULL;
}

/* Invariant 5. */
static bool may_go_first(const struct cpu *self, struct affinity_cpu *q)
{
    unsigned turns = affinity.rule == AFFINITY_OLD ? 2 : RT_BYPASS_LIMIT;
    uint32_t ticks = at_load_rlx(&self->ticks);
    bool over = q->went_first && ticks != q->ticks;
    q->ticks = ticks;
    q->went_first = ++q->ahead % turns != 0 && !over;
    return q->went_first;
}

/* ---- operations ---- */

static struct pirn_kick affinity_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct pirn_kick kick;
    if (why == PIRN_WHY_WAKE || why == PIRN_WHY_HANDOFF) {
        if (affinity.rule == AFFINITY_AUTO) {
            affinity_learn(self, t);
        }
        if (affinity_place(self, t, &kick)) {
            return kick;
        }
    }
    return affinity.base.enqueue(self, t, why);
}

static struct thread *affinity_pick(struct cpu *self)
{
    struct affinity_cpu *q = affinity_of(self);
    struct thread *t;
    if (unlikely(at_load_rlx(&q->length) != 0) && may_go_first(self, q) &&
        !MUTANT(AFFINITY_BEHIND) && (t = run_own(self)) != NULL) {
        return t;
    }
    t = affinity.base.pick(self);
    if (t == NULL && at_load_rlx(&q->length) != 0) {
        return run_own(self);
    }
    return takes(self, t);
}

/* Another CPU's consumer whose producer is this CPU's last thread. */
static struct thread *pull_from(struct affinity_cpu *from, const struct affinity_cpu *to)
{
    struct thread *t = NULL;
    struct producer_list producers;
    unsigned looks = 0;
    spin_lock(&from->lock, RANK_RUNQ);
    for (struct list *node = from->consumers.next; node != &from->consumers && looks < PULL_LOOKS;
         node = node->next, looks++) {
        struct consumer *c = consumer_at(node);
        affinity_producers(c, c->thread->generation, &producers);
        if (affinity_ran_last(&producers, to)) {
            t = affinity_unlink_locked(from, c);
            break;
        }
    }
    spin_unlock(&from->lock, RANK_RUNQ);
    return t;
}

/* A thread has come from CPU `victim`, and runs. */
static struct thread *took(struct cpu *self, struct thread *t, unsigned victim, uint64_t *count,
                           uint64_t began)
{
    struct affinity_cpu *q = affinity_of(self);
    affinity_add(count, 1);
    STAT_INC(&self->stats.steals);
    affinity_add(&q->counts.pull_ns, port_now() - began);
    trace_steal(self, victim, 1, t);
    return run_consumer(self, t);
}

/* The k-th other CPU, from 1 on; near ones first. */
static struct affinity_cpu *other(const struct cpu *self, unsigned k)
{
    return &affinity.cpus[nodes_differ() ? nodes_near(self->id, k - 1) : (self->id + k) % rt.ncpu];
}

static struct thread *pull(struct cpu *self, uint64_t now)
{
    struct affinity_cpu *q = affinity_of(self);
    for (unsigned k = 1; k < rt.ncpu; k++) {
        struct affinity_cpu *from = other(self, k);
        struct thread *t = at_load_rlx(&from->length) != 0 ? pull_from(from, q) : NULL;
        if (t != NULL) {
            return took(self, t, from->id, &q->counts.pulls, now);
        }
    }
    return NULL;
}

/* This CPU has been without work for long: the oldest consumer of the next CPU that has one. */
static struct thread *take_late(struct cpu *self, uint64_t now)
{
    struct affinity_cpu *q = affinity_of(self);
    if (now - q->idle_since < affinity.idle_ns) {
        return NULL;
    }
    for (unsigned k = 1; k < rt.ncpu; k++) {
        struct affinity_cpu *from = other(self, k);
        struct thread *t = at_load_rlx(&from->length) != 0 ? take_end(from, false) : NULL;
        if (t != NULL) {
            affinity_unlearn(rt_record_of(t), from);
            return took(self, t, from->id, &q->counts.late, now);
        }
    }
    return NULL;
}

/* Do consumers wait for other CPUs that this one may take? */
static bool others_wait(const struct cpu *self)
{
    if (!affinity.shares || MUTANT(AFFINITY_BLIND)) {
        return false;
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (i != self->id && at_load_rlx(&affinity.cpus[i].length) != 0) { /* ORDER(idle-wake) */
            return true;
        }
    }
    return false;
}

static struct thread *affinity_search(struct cpu *self)
{
    struct thread *t = NULL;
    bool there = unlikely(others_wait(self));
    uint64_t now = there ? port_now() : 0;
    if (there && (t = pull(self, now)) != NULL) {
        return t;
    }
    if (affinity.base.search != NULL && (t = affinity.base.search(self)) != NULL) {
        return takes(self, t);
    }
    return there ? take_late(self, now) : NULL;
}

static bool affinity_has_work(struct cpu *self)
{
    return at_load_rlx(&affinity_of(self)->length) != 0 || /* ORDER(idle-wake) */
           affinity.base.has_work(self) || others_wait(self);
}

static bool affinity_remove(struct cpu *self, struct thread *t)
{
    struct consumer *c = rt_record_of(t);
    if (c != NULL && at_load_rlx(&c->queued) != 0) {
        bool ours = self != NULL && at_load_rlx(&c->queued) == self->id + 1;
        return ours && take_from_any(c) && run_consumer(self, t) != NULL;
    }
    return affinity.base.remove(self, t) && takes(self, t) != NULL;
}

static bool affinity_direct(struct cpu *self, struct thread *t)
{
    return affinity.base.direct(self, t) && takes(self, t) != NULL;
}

/* Does the first of the CPU's consumers go before the running thread, under a discipline with
 * classes? */
static bool consumer_is_due(const struct cpu *self, const struct thread *running, enum pirn_why why)
{
    struct affinity_cpu *q = affinity_of(self);
    uint32_t there = first_urgency(q), here = affinity_urgency(running);
    bool turn = why == PIRN_WHY_YIELD || running->sched.ticks_left == 0;
    return there > here || (there == here && turn && may_go_first(self, q));
}

static struct thread *affinity_preempt(struct cpu *self, struct thread *running, enum pirn_why why)
{
    struct affinity_cpu *q = affinity_of(self);
    struct thread *t;
    if (unlikely(at_load_rlx(&q->length) != 0) && consumer_is_due(self, running, why) &&
        (t = run_own(self)) != NULL) {
        return t;
    }
    return takes(self, affinity.base.preempt(self, running, why));
}

static void affinity_requeue(struct thread *t)
{
    struct cpu *self = port_cpu_self();
    struct consumer *early = MUTANT(AFFINITY_EARLY) ? rt_record_of(t) : NULL;
    at_fence_heavy(); /* ORDER(requeue) */
    struct consumer *c = MUTANT(AFFINITY_EARLY) ? early : rt_record_of(t);
    if (c != NULL && take_from_any(c)) {
        uint64_t ticket = ready_move(t);
        placing_leaves(self, t);
        moved(self, ticket, affinity.base.enqueue(self, t, PIRN_WHY_MIGRATE));
        return;
    }
    affinity.base.requeue(t);
    if (sched_has_classes() && affinity.base.pinned && !MUTANT(AFFINITY_LOWERED)) {
        classes_look_again(t); /* the policy tells its home, and it may run elsewhere */
    }
}

static int affinity_thread_init(struct thread *t, struct thread *creator)
{
    int error = affinity.rule == AFFINITY_AUTO ? rt_record_reserve(t) : 0;
    if (error == 0 && affinity.base.thread_init != NULL) {
        error = affinity.base.thread_init(t, creator);
    }
    if (error == 0 && (t->flags & THREAD_MAIN)) {
        takes(rt.cpus[0], t); /* it runs already */
    }
    return error;
}

static void affinity_idle_enter(struct cpu *self)
{
    struct affinity_cpu *q = affinity_of(self);
    q->idle_since = port_now();
    at_store_rlx(&q->idle, 1u);
    if (affinity.base.idle_enter != NULL) {
        affinity.base.idle_enter(self);
    }
}

static void affinity_idle_exit(struct cpu *self)
{
    at_store_rlx(&affinity_of(self)->idle, 0u);
    if (affinity.base.idle_exit != NULL) {
        affinity.base.idle_exit(self);
    }
}

static void affinity_stat(struct cpu *self,
                          void (*emit)(void *to, const char *name, uint64_t value), void *to)
{
    const struct affinity_counts *n = &affinity_of(self)->counts;
    emit(to, "affinity-here", STAT_GET(&n->here));
    emit(to, "affinity-there", STAT_GET(&n->there));
    emit(to, "affinity-standard", STAT_GET(&n->standard));
    emit(to, "affinity-pushes", STAT_GET(&n->pushes));
    emit(to, "affinity-push-ns", STAT_GET(&n->push_ns));
    emit(to, "affinity-pulls", STAT_GET(&n->pulls));
    emit(to, "affinity-late", STAT_GET(&n->late));
    emit(to, "affinity-pull-ns", STAT_GET(&n->pull_ns));
    if (affinity.rule == AFFINITY_AUTO) {
        emit(to, "affinity-learned", STAT_GET(&n->learned));
        emit(to, "affinity-declared", STAT_GET(&n->declared));
        emit(to, "affinity-agreed", STAT_GET(&n->agreed));
    }
    if (affinity.base.stat != NULL) {
        affinity.base.stat(self, emit, to);
    }
}

static void affinity_check(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        struct affinity_cpu *q = &affinity.cpus[i];
        uint32_t n = 0;
        spin_lock(&q->lock, RANK_RUNQ);
        for (struct list *node = q->consumers.next; node != &q->consumers; node = node->next) {
            struct consumer *c = consumer_at(node);
            RT_VERIFY(at_load_rlx(&c->queued) == i + 1);
            RT_VERIFY(at_load_rlx(&c->thread->state) == THREAD_READY);
            n++;
        }
        RT_VERIFY(n == at_load_rlx(&q->length));
        spin_unlock(&q->lock, RANK_RUNQ);
    }
    if (affinity.base.check != NULL) {
        affinity.base.check();
    }
}

static int affinity_init(unsigned ncpu)
{
    affinity.shares = affinity.rule != AFFINITY_OLD && !affinity.base.pinned && ncpu > 1;
    for (unsigned i = 0; i < ncpu; i++) {
        struct affinity_cpu *q = &affinity.cpus[i];
        *q = (struct affinity_cpu){.id = i};
        at_init(&q->lock.word, 0u);
        list_init(&q->consumers);
        at_init(&q->length, 0u);
        at_init(&q->last, (struct id_slot *)NULL);
        at_init(&q->last_life, 0u);
        at_init(&q->idle, 0u);
    }
    return affinity.base.init != NULL ? affinity.base.init(ncpu) : 0;
}

void affinity_use(const struct sched_affinity *way)
{
    affinity.way = way;
}

/* What "default" means. */
static void rule_settle(const struct pirn_policy *policy)
{
    bool named = producers_options.names[0] != '\0';
    if (affinity.way == NULL && named) {
        rt_refuse("pirn: option affinity=\"%s\": policy %s has no task affinity. Valid policies: "
                  "steal, single, dist\n",
                  producers_options.names, policy->name);
    }
    if (affinity.way == NULL) {
        affinity.rule = AFFINITY_OFF;
    } else if (affinity.rule == AFFINITY_DEFAULT) {
        affinity.rule = named ? AFFINITY_DECLARED : AFFINITY_OFF;
    }
}

bool affinity_decorate(struct pirn_policy *to)
{
    rule_settle(to);
    if (affinity.rule == AFFINITY_OFF) {
        return false;
    }
    affinity.base = *to;
    to->init = affinity_init;
    to->enqueue = affinity_enqueue;
    to->pick = affinity_pick;
    to->rotate = NULL; /* it would run past the consumers */
    to->search = affinity_search;
    to->remove = affinity.base.remove != NULL ? affinity_remove : NULL;
    to->direct = affinity.base.direct != NULL ? affinity_direct : NULL;
    to->requeue = affinity.base.requeue != NULL ? affinity_requeue : NULL;
    to->preempt = affinity.base.preempt != NULL ? affinity_preempt : NULL;
    to->has_work = affinity_has_work;
    to->idle_enter = affinity_idle_enter;
    to->idle_exit = affinity_idle_exit;
    to->thread_init = affinity_thread_init;
    to->stat = affinity_stat;
    to->check = FOR_TESTS(affinity_check);
    return true;
}
