/* SPDX-License-Identifier: MIT */
/*
 * producers.c - see producers.h.
 */
#include <errno.h>

#include "cpu.h"
#include "mutant.h"
#include "producers.h"

#define SLAB_RECORDS 8u

/* Records are allocated a few at a time. */
struct slab {
    struct slab *next;
    struct consumer records[SLAB_RECORDS];
};

static struct {
    spinlock_t lock;
    struct slab *slabs; /* (lock) all of them, the newest first */
    unsigned used;      /* (lock) records of the newest */
    uint32_t visits;    /* (lock) searches so far */
} graph;

static bool has_ended(const struct thread *t)
{
    return t == NULL || at_load_acq(&t->state) == THREAD_EXITED; /* ORDER(exit) */
}

/* ---- records ---- */

static struct consumer *record_alloc_locked(void)
{
    if (graph.slabs == NULL || graph.used == SLAB_RECORDS) {
        struct slab *slab = port_table_alloc(sizeof(struct slab));
        if (slab == NULL) {
            return NULL;
        }
        slab->next = graph.slabs;
        graph.slabs = slab;
        graph.used = 0;
    }
    struct consumer *c = &graph.slabs->records[graph.used++];
    at_init(&c->life, 0u);
    at_init(&c->count, 0u);
    at_init(&c->queued, 0u);
    at_init(&c->seen_life, 0u);
    for (unsigned i = 0; i < RT_PRODUCERS_MAX; i++) {
        at_init(&c->of[i].slot, (struct id_slot *)NULL);
        at_init(&c->of[i].life, 0u);
    }
    for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
        at_init(&c->seen[i].slot, (struct id_slot *)NULL);
        at_init(&c->seen[i].life, 0u);
        at_init(&c->seen[i].weight, 0u);
    }
    return c;
}

/* The record of that life; NULL: there is none yet. */
static struct consumer *record_find_locked(struct id_slot *slot, uint32_t generation)
{
    struct consumer *c = at_load_rlx(&slot->consumer);
    return c != NULL && at_load_rlx(&c->life) == generation ? c : NULL;
}

/* The same, made if need be. A record that an earlier life has left is emptied first. NULL: no
 * memory. */
static struct consumer *record_get_locked(struct life of)
{
    struct consumer *c = at_load_rlx(&of.slot->consumer);
    if (c == NULL) {
        c = record_alloc_locked();
        if (c == NULL) {
            return NULL;
        }
        at_init(&c->life, of.generation);
        at_store_rel(&of.slot->consumer, c); /* ORDER(consumer) */
    } else if (at_load_rlx(&c->life) != of.generation) {
        at_store_rlx(&c->count, 0u);
        at_store_rlx(&c->life, of.generation);
    }
    return c;
}

/* Its place among the producers of c; the number of them if it is none. */
static uint32_t producer_find(const struct consumer *c, struct life of)
{
    uint32_t count = rt_producer_count(c), i = 0;
    while (i < count && (at_load_rlx(&c->of[i].slot) != of.slot ||
                         at_load_rlx(&c->of[i].life) != of.generation)) {
        i++;
    }
    return i;
}

static void producer_set_locked(struct producer *p, struct life of)
{
    at_store_rlx(&p->slot, of.slot);
    at_store_rlx(&p->life, of.generation);
    p->index = of.index;
}

static void producer_remove_locked(struct consumer *c, uint32_t i)
{
    uint32_t last = at_load_rlx(&c->count) - 1;
    struct producer *from = &c->of[last];
    producer_set_locked(
        &c->of[i], (struct life){at_load_rlx(&from->slot), from->index, at_load_rlx(&from->life)});
    at_store_rel(&c->count, last); /* ORDER(consumer) */
}

static void nothing(struct thread *t, void *arg)
{
    (void)t;
    (void)arg;
}

/* Forget producers that have ended. */
static void producers_prune_locked(struct consumer *c)
{
    for (uint32_t i = at_load_rlx(&c->count); i-- > 0;) {
        if (!id_visit(c->of[i].index, at_load_rlx(&c->of[i].life), UINT32_MAX, true, nothing,
                      NULL)) {
            producer_remove_locked(c, i);
        }
    }
}

/* ---- circles ---- */

/* c is to be visited, if it has not been in this search. */
static void visit_later_locked(struct consumer **todo, struct consumer *c)
{
    if (c != NULL && c->visit != graph.visits) {
        c->visit = graph.visits;
        c->next = *todo;
        *todo = c;
    }
}

/* Does `from` depend on `on`, directly or through others? */
static bool depends_locked(struct life from, struct life on)
{
    struct consumer *todo = NULL;
    graph.visits++;
    visit_later_locked(&todo, record_find_locked(from.slot, from.generation));
    while (todo != NULL) {
        struct consumer *c = todo;
        todo = c->next;
        if (producer_find(c, on) != at_load_rlx(&c->count)) {
            return true;
        }
        for (uint32_t i = 0; i < at_load_rlx(&c->count); i++) {
            visit_later_locked(&todo, record_find_locked(at_load_rlx(&c->of[i].slot),
                                                         at_load_rlx(&c->of[i].life)));
        }
    }
    return false;
}

/* ---- the calls ---- */

static int add_locked(struct life consumer, struct life producer)
{
    struct consumer *c = record_find_locked(consumer.slot, consumer.generation);
    if (c != NULL && producer_find(c, producer) != at_load_rlx(&c->count)) {
        return 0;
    }
    if (depends_locked(producer, consumer) && !MUTANT(PRODUCER_CIRCLE)) {
        return -ELOOP;
    }
    c = record_get_locked(consumer);
    if (c == NULL) {
        return -ENOMEM;
    }
    if (at_load_rlx(&c->count) == RT_PRODUCERS_MAX) {
        producers_prune_locked(c);
    }
    uint32_t count = at_load_rlx(&c->count);
    if (count == RT_PRODUCERS_MAX) {
        return -ENOSPC;
    }
    producer_set_locked(&c->of[count], producer);
    at_store_rel(&c->count, count + 1); /* ORDER(consumer) */
    return 0;
}

static int del_locked(struct life consumer, struct life producer)
{
    struct consumer *c = record_find_locked(consumer.slot, consumer.generation);
    uint32_t i = c != NULL ? producer_find(c, producer) : 0;
    if (c == NULL || i == at_load_rlx(&c->count)) {
        return -ENOENT;
    }
    producer_remove_locked(c, i);
    return 0;
}

static int change(struct life consumer, struct life producer,
                  int (*fn)(struct life consumer, struct life producer))
{
    unsigned long irq;
    rt_enter_lock(&irq, &graph.lock, RANK_PRODUCERS);
    int error = fn(consumer, producer);
    rt_leave_unlock(irq, &graph.lock, RANK_PRODUCERS);
    return error;
}

int producers_add(struct life consumer, struct life producer)
{
    return change(consumer, producer, add_locked);
}

/* The handles of threads that exist: their owner keeps them meanwhile. */
static bool have_ended(const struct thread *consumer, const struct thread *producer)
{
    return has_ended(consumer) || has_ended(producer);
}

int rt_producer_add(struct thread *consumer, struct thread *producer)
{
    if (have_ended(consumer, producer)) {
        return -ESRCH;
    }
    return consumer == producer ? -EINVAL
                                : change(life_of(consumer), life_of(producer), add_locked);
}

int rt_producer_del(struct thread *consumer, struct thread *producer)
{
    return have_ended(consumer, producer)
               ? -ESRCH
               : change(life_of(consumer), life_of(producer), del_locked);
}

bool rt_is_producer(const struct consumer *c, uint32_t life, const struct thread *t)
{
    return at_load_rlx(&c->life) == life && producer_find(c, life_of(t)) < rt_producer_count(c);
}

int rt_record_reserve(const struct thread *t)
{
    unsigned long irq;
    if (rt_record_of(t) != NULL) {
        return 0;
    }
    rt_enter_lock(&irq, &graph.lock, RANK_PRODUCERS);
    const struct consumer *c = record_get_locked(life_of(t));
    rt_leave_unlock(irq, &graph.lock, RANK_PRODUCERS);
    return c != NULL ? 0 : -ENOMEM;
}

/* ---- fork, simulator ---- */

void producers_forked(void)
{
    at_init(&graph.lock.word, 0u);
    for (struct slab *slab = graph.slabs; slab != NULL; slab = slab->next) {
        for (unsigned i = 0; i < SLAB_RECORDS; i++) {
            at_init(&slab->records[i].queued, 0u);
        }
    }
}

void producers_reset(void)
{
    while (graph.slabs != NULL) {
        struct slab *slab = graph.slabs;
        graph.slabs = slab->next;
        port_table_free(slab, sizeof(struct slab));
    }
    graph.used = 0;
    graph.visits = 0;
    at_init(&graph.lock.word, 0u);
}
