/* SPDX-License-Identifier: MIT */
/*
 * affinity_place.c - the CPU of a consumer that wakes: the rules of affinity.h, step by step. The
 * invariants are those of affinity.c.
 *
 * A look at where a producer runs takes no lock: each producer names its slot of the id table, the
 * slot the CPU that took it last, and that CPU its current or last thread. So the cost grows with
 * the number of producers, not with that of CPUs.
 *
 * The thesis' kernel decides under the lock of a run queue which thread runs next. Here a CPU may
 * pick another thread while a waker on another CPU chooses it. The waker looks again behind the
 * queue's lock; a CPU that picks at that very moment runs one thread before the consumer.
 */
#include "../core/nodes.h"
#include "affinity_queue.h"
#include "mutant.h"
#include "wake.h"

/* CPUs of producers, each once, in the order of the declarations. */
struct candidates {
    unsigned n;
    uint16_t cpu[RT_PRODUCERS_MAX + RT_PRODUCERS_SEEN];
};

static bool has(const struct candidates *to, unsigned cpu)
{
    for (unsigned i = 0; i < to->n; i++) {
        if (to->cpu[i] == cpu) {
            return true;
        }
    }
    return false;
}

/* Does the CPU run this producer, or, without work, has it run it last? */
static bool is_last(const struct affinity_cpu *q, const struct id_slot *slot, uint32_t life)
{
    return at_load_rlx(&q->last) == slot && at_load_rlx(&q->last_life) == life;
}

void affinity_producers(const struct consumer *c, uint32_t life, struct producer_list *to)
{
    uint32_t count = at_load_rlx(&c->life) == life ? rt_producer_count(c) : 0;
    bool learned = affinity.rule == AFFINITY_AUTO && at_load_rlx(&c->seen_life) == life;
    to->n = 0;
    for (uint32_t i = 0; i < count; i++) {
        to->of[to->n++] = (struct named){at_load_rlx(&c->of[i].slot), at_load_rlx(&c->of[i].life)};
    }
    for (unsigned i = 0; learned && i < RT_PRODUCERS_SEEN; i++) {
        if (affinity_counts_as_producer(&c->seen[i])) {
            to->of[to->n++] =
                (struct named){at_load_rlx(&c->seen[i].slot), at_load_rlx(&c->seen[i].life)};
        }
    }
}

bool affinity_ran_last(const struct producer_list *producers, const struct affinity_cpu *q)
{
    for (unsigned i = 0; i < producers->n; i++) {
        if (is_last(q, producers->of[i].slot, producers->of[i].life)) {
            return true;
        }
    }
    return false;
}

/* The CPUs of those that the rule wants. */
static void candidates_find(const struct producer_list *producers, struct candidates *to)
{
    to->n = 0;
    for (unsigned i = 0; i < producers->n; i++) {
        struct named p = producers->of[i];
        uint32_t ran_on = at_load_rlx(&p.slot->ran_on);
        bool there = ran_on != 0 && (affinity.rule == AFFINITY_OLD || MUTANT(AFFINITY_STALE) ||
                                     is_last(&affinity.cpus[ran_on - 1], p.slot, p.life));
        if (there && !has(to, ran_on - 1)) {
            to->cpu[to->n++] = (uint16_t)(ran_on - 1);
        }
    }
}

/* ---- NUMA ---- */

/* A CPU without work on the node of that one; RT_MAX_CPUS: none. */
static unsigned without_work_near(unsigned cpu)
{
    for (unsigned k = 0; k < rt.ncpu - 1; k++) {
        unsigned near = nodes_near(cpu, k);
        const struct affinity_cpu *q = &affinity.cpus[near];
        if (nodes_of(near) != nodes_of(cpu)) {
            break;
        }
        if (at_load_rlx(&q->idle) != 0 && at_load_rlx(&q->length) == 0) {
            return near;
        }
    }
    return RT_MAX_CPUS;
}

/* The same on the node where a producer ran last. */
static unsigned near_without_work(const struct producer_list *producers)
{
    unsigned near = RT_MAX_CPUS;
    for (unsigned i = 0; i < producers->n && near == RT_MAX_CPUS; i++) {
        uint32_t ran_on = at_load_rlx(&producers->of[i].slot->ran_on);
        near = ran_on != 0 ? without_work_near(ran_on - 1) : RT_MAX_CPUS;
    }
    return near;
}

/* ---- one of them ---- */

/* Threads that are ready or run there: a hint. */
static uint32_t load_of(unsigned cpu)
{
    const struct affinity_cpu *q = &affinity.cpus[cpu];
    return at_load_rlx(&q->length) + affinity.way->length(cpu) + (at_load_rlx(&q->idle) == 0);
}

/* Take the best of the candidates out: the waking CPU; else the one with the fewest threads; of
 * equals the first. The old rule does not prefer the waking CPU. */
static unsigned candidates_take(struct candidates *from, const struct cpu *self)
{
    unsigned best = 0;
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < from->n; i++) {
        bool here = affinity.rule != AFFINITY_OLD && self != NULL && from->cpu[i] == self->id &&
                    !MUTANT(AFFINITY_AWAY);
        uint32_t load = here ? 0 : load_of(from->cpu[i]) + 1;
        if (load < least) {
            least = load;
            best = i;
        }
    }
    unsigned cpu = from->cpu[best];
    for (unsigned i = best + 1; i < from->n; i++) {
        from->cpu[i - 1] = from->cpu[i];
    }
    from->n--;
    return cpu;
}

/* Would t, first among the consumers, wait for a thread other than its producer? What the waking
 * CPU runs does not change meanwhile. */
static bool is_preceded_locked(const struct cpu *self, struct affinity_cpu *q,
                               const struct producer_list *producers, uint32_t urgency)
{
    struct list *first = q->consumers.next;
    if (first != &q->consumers &&
        affinity_urgency(CONTAINER_OF(first, struct consumer, link)->thread) > urgency) {
        return true;
    }
    bool here = self != NULL && self->id == q->id;
    return !here && !affinity_ran_last(producers, q) && !MUTANT(AFFINITY_STALE);
}

/* Behind those that are at least as urgent. */
static struct list *tail_locked(struct affinity_cpu *q, uint32_t urgency)
{
    struct list *node = q->consumers.prev;
    while (node != &q->consumers &&
           affinity_urgency(CONTAINER_OF(node, struct consumer, link)->thread) < urgency) {
        node = node->prev;
    }
    return node->next;
}

/* Queue t there. False: it would be preceded. near: the CPU is near a producer's, and has no
 * work. */
static bool queue_at(struct cpu *self, unsigned cpu, struct consumer *c, struct thread *t,
                     const struct producer_list *producers, uint32_t *urgency)
{
    struct affinity_cpu *q = &affinity.cpus[cpu];
    bool old = affinity.rule == AFFINITY_OLD;
    uint32_t others = old ? 0 : affinity.way->urgency(cpu);
    spin_lock(&q->lock, RANK_RUNQ);
    at_store_rlx(&c->queued, cpu + 1);
    c->thread = t;
    at_fence_light(); /* ORDER(requeue) */
    *urgency = affinity_urgency(t);
    bool queued = old || producers == NULL ||
                  (others <= *urgency && !is_preceded_locked(self, q, producers, *urgency));
    if (queued) {
        affinity_link_locked(
            q, c, old || MUTANT(AFFINITY_TAIL) ? tail_locked(q, *urgency) : q->consumers.next);
        trace_place(self, cpu, t);
    } else {
        at_store_rlx(&c->queued, 0u);
    }
    spin_unlock(&q->lock, RANK_RUNQ);
    return queued;
}

static struct pirn_kick kick_of(struct cpu *self, unsigned cpu, uint32_t urgency)
{
    bool here = self != NULL && self->id == cpu;
    uint32_t there = sched_has_classes() ? classes_urgency_at(cpu) : (uint32_t)URGENCY_IDLE;
    bool preempt = urgency > URGENCY_OTHER && there != URGENCY_IDLE && there < urgency;
    if (here && !preempt) {
        return (struct pirn_kick){.cpu = affinity.shares ? PIRN_KICK_ANY : PIRN_KICK_NONE};
    }
    if (affinity.shares && !MUTANT(AFFINITY_QUIET)) {
        rt_kick_any(self);
    }
    return (struct pirn_kick){.cpu = (int)cpu, .preempt = preempt};
}

static void count(struct cpu *self, unsigned cpu, bool placed, unsigned pushes, uint64_t began)
{
    if (self == NULL) {
        return; /* counters belong to CPUs */
    }
    struct affinity_counts *n = &affinity_of(self)->counts;
    affinity_add(!placed ? &n->standard : cpu == self->id ? &n->here : &n->there, 1);
    affinity_add(&n->pushes, pushes);
    if (pushes != 0) {
        affinity_add(&n->push_ns, port_now() - began);
    }
}

bool affinity_place(struct cpu *self, struct thread *t, struct pirn_kick *kick)
{
    struct consumer *c = rt_record_of(t);
    struct producer_list producers;
    struct candidates candidates;
    unsigned cpu = 0, pushes = 0;
    uint32_t urgency = 0;
    uint64_t began = 0;
    bool placed = false;
    if (likely(c == NULL)) {
        return false;
    }
    affinity_producers(c, t->generation, &producers);
    if (producers.n == 0) {
        return false;
    }
    candidates_find(&producers, &candidates);
    while (candidates.n != 0 && !placed) {
        cpu = candidates_take(&candidates, self);
        placed = queue_at(self, cpu, c, t, &producers, &urgency);
        if (!placed && pushes++ == 0) {
            began = port_now();
        }
    }
    if (!placed && nodes_differ() && affinity.shares &&
        (cpu = near_without_work(&producers)) != RT_MAX_CPUS) {
        placed = queue_at(self, cpu, c, t, NULL, &urgency);
    }
    /* If it is placed, it may run already: nothing of it is read any more. */
    count(self, cpu, placed, pushes, began);
    if (placed) {
        *kick = kick_of(self, cpu, urgency);
    }
    return placed;
}
