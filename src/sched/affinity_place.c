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
 *
 * Pushes. The thesis looks right after the enqueue, and pushes the consumer if a thread of equal or
 * higher priority precedes it. Here the look comes before the link, and only a higher priority
 * counts. That is the same:
 *   - Other consumers. Look and link are under one hold of the queue's lock, so none comes between.
 *     The consumer goes to the head: those of its priority that wait there are behind it. (In the
 *     thesis, too: it holds the run queue's lock from the enqueue to the look.)
 *   - The policy's ready threads. A CPU picks its first consumer before those of the same priority
 *     (sched_affinity.run; but for invariant 5 of affinity.c). The look at them is a hint, taken
 *     before the lock. A more urgent one that it misses, or that becomes ready later, is seen when
 *     the consumer is about to run: affinity_push.
 * Either way the consumer goes to another producer's CPU; if there is none, the policy places it.
 */
#include "../core/nodes.h"
#include "affinity_queue.h"
#include "mutant.h"
#include "placing.h"
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
ALWAYS_INLINE void candidates_find(const struct producer_list *producers, struct candidates *to)
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

ALWAYS_INLINE void candidates_remove(struct candidates *from, unsigned at)
{
    for (unsigned i = at + 1; i < from->n; i++) {
        from->cpu[i - 1] = from->cpu[i];
    }
    from->n--;
}

/* Take the best of the candidates out: the waking CPU; else the one with the fewest threads; of
 * equals the first. The old rule does not prefer the waking CPU. */
ALWAYS_INLINE unsigned candidates_take(struct candidates *from, const struct cpu *self)
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
    candidates_remove(from, best);
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

/* Queue t there. False: it would be preceded. producers: NULL if the CPU is none of theirs, but
 * near one and without work. */
static bool queue_at(struct cpu *self, unsigned cpu, struct consumer *c, struct thread *t,
                     const struct producer_list *producers, uint32_t *urgency)
{
    struct affinity_cpu *q = &affinity.cpus[cpu];
    bool old = affinity.rule == AFFINITY_OLD;
    uint32_t before = MUTANT(AFFINITY_UNSEEN) ? affinity_urgency(t) : 0;
    uint32_t others = old ? 0 : affinity.way->urgency(cpu);
    spin_lock(&q->lock, RANK_RUNQ);
    at_store_rlx(&c->queued, cpu + 1);
    c->thread = t;
    at_fence_light(); /* ORDER(requeue) */
    *urgency = MUTANT(AFFINITY_UNSEEN) ? before : affinity_urgency(t);
    bool queued = old || producers == NULL ||
                  (others <= *urgency && !is_preceded_locked(self, q, producers, *urgency));
    if (queued) {
        affinity_link_locked(
            q, c, old || MUTANT(AFFINITY_TAIL) ? tail_locked(q, *urgency) : q->consumers.next);
        placing_links_locked(self, cpu, t, producers == NULL);
        trace_place(self, cpu, t);
    } else {
        at_store_rlx(&c->queued, 0u);
    }
    spin_unlock(&q->lock, RANK_RUNQ);
    return queued;
}

/* Does the CPU run a less urgent thread than the real-time thread that waits for it now? If it is
 * about to, it looks at those that wait: invariant 7. */
static bool runs_less(unsigned cpu, uint32_t urgency)
{
    at_fence_seq(); /* ORDER(runs) */
    uint32_t there = classes_urgency_at(cpu);
    return there != URGENCY_IDLE && there < urgency;
}

ALWAYS_INLINE struct pirn_kick kick_of(struct cpu *self, unsigned cpu, uint32_t urgency)
{
    bool here = self != NULL && self->id == cpu;
    bool preempt = urgency > URGENCY_OTHER && runs_less(cpu, urgency);
    if (here && !preempt) {
        return (struct pirn_kick){.cpu = affinity.shares ? PIRN_KICK_ANY : PIRN_KICK_NONE};
    }
    if (affinity.shares && !MUTANT(AFFINITY_QUIET)) {
        rt_kick_any(self);
    }
    return (struct pirn_kick){.cpu = (int)cpu, .preempt = preempt};
}

/* How it went for one consumer. */
struct way {
    unsigned cpu, pushes;
    uint32_t urgency;
    uint64_t began; /* the first push */
    bool placed;
};

static void push(struct way *way)
{
    if (way->pushes++ == 0) {
        way->began = port_now();
    }
}

ALWAYS_INLINE void count(struct cpu *self, const struct way *way)
{
    if (self == NULL) {
        return; /* counters belong to CPUs */
    }
    struct affinity_counts *n = &affinity_of(self)->counts;
    affinity_add(!way->placed ? &n->standard : way->cpu == self->id ? &n->here : &n->there, 1);
    affinity_add(&n->pushes, way->pushes);
    if (way->pushes != 0) {
        affinity_add(&n->push_ns, port_now() - way->began);
    }
}

/* Into the queue of the best candidate where no other thread precedes it. */
ALWAYS_INLINE void place_at_producer(struct cpu *self, struct consumer *c, struct thread *t,
                                     const struct producer_list *producers,
                                     struct candidates *candidates, struct way *way)
{
    while (candidates->n != 0 && !way->placed) {
        way->cpu = candidates_take(candidates, self);
        way->placed = queue_at(self, way->cpu, c, t, producers, &way->urgency);
        if (!way->placed) {
            push(way);
        }
    }
}

/* If t is placed, it may run already: nothing of it is read any more. */
ALWAYS_INLINE bool ends(struct cpu *self, struct thread *t, const struct way *way,
                        struct pirn_kick *kick)
{
    count(self, way);
    if (way->placed) {
        *kick = kick_of(self, way->cpu, way->urgency);
    } else {
        placing_leaves(self, t);
    }
    return way->placed;
}

static enum placing_rule rule_of(enum affinity_rule rule)
{
    return rule == AFFINITY_OLD    ? PLACING_OLD
           : rule == AFFINITY_AUTO ? PLACING_LEARNED
                                   : PLACING_DECLARED;
}

bool affinity_place(struct cpu *self, struct thread *t, struct pirn_kick *kick)
{
    struct consumer *c = rt_record_of(t);
    struct producer_list producers;
    struct candidates candidates;
    struct way way = {0};
    if (likely(c == NULL)) {
        return false;
    }
    placing_begins(self, t, rule_of(affinity.rule), false);
    affinity_producers(c, t->generation, &producers);
    if (producers.n == 0) {
        return false;
    }
    candidates_find(&producers, &candidates);
    place_at_producer(self, c, t, &producers, &candidates, &way);
    if (!way.placed && nodes_differ() && affinity.shares &&
        (way.cpu = near_without_work(&producers)) != RT_MAX_CPUS) {
        way.placed = queue_at(self, way.cpu, c, t, NULL, &way.urgency);
    }
    return ends(self, t, &way, kick);
}

bool affinity_push(struct cpu *self, struct thread *t, struct pirn_kick *kick)
{
    struct consumer *c = rt_record_of(t);
    struct producer_list producers;
    struct candidates candidates = {0};
    struct way way = {0};
    push(&way);
    placing_begins(self, t, rule_of(affinity.rule), true);
    affinity_producers(c, t->generation, &producers);
    if (affinity.rule != AFFINITY_OLD && !MUTANT(AFFINITY_LEFT)) {
        candidates_find(&producers, &candidates);
    }
    for (unsigned i = 0; i < candidates.n; i++) {
        if (candidates.cpu[i] == self->id) {
            candidates_remove(&candidates, i);
        }
    }
    place_at_producer(self, c, t, &producers, &candidates, &way);
    return ends(self, t, &way, kick);
}
