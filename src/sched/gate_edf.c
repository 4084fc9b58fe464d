/* SPDX-License-Identifier: MIT */
/*
 * gate_edf.c - order=edf of policy gate: earliest deadline first, for late threads, and a promotion
 * queue for all others. After Calandrino and Anderson, "On the design and implementation of a
 * cache-aware multicore real-time scheduler", 2009.
 *
 *   1. A thread is late if the deadline of its job has passed (core/demand.h). Late threads go
 *      first, the earliest deadline before the others.
 *   2. The others are in the promotion queue, from the smallest to the largest working set, those
 *      of one size by arrival. Its first one is promoted. Threads that demand nothing are at its
 *      head; a thread without deadline waits as long as smaller ones keep coming.
 *   3. gate.c lets the first one run if it fits into the cache, late or not. In the paper late
 *      threads run in any case; here the cache is never overcommitted, and nobody overtakes a late
 *      thread that does not fit, so it runs as soon as those that run have left.
 *
 * While nothing fits, that does not change by time alone: if the smallest working set does not fit,
 * none of a thread that has become late does. So no CPU has to be woken at a deadline.
 *
 * Invariants (lock):
 *   1. A ready thread is in `plain` if its working set is 0, else in `sized`, by size.
 *   2. It is in `deadlines`, too, by its record's link, exactly if it has a deadline: room[3].
 * Lock: cache.lock.
 */
#include "gate.h"
#include "mutant.h"

static struct {
    struct list plain, sized; /* (lock) by rq */
    struct list deadlines;    /* (lock) by demand.link, the earliest first */
    unsigned length;          /* (lock) */
} edf;

static struct thread *thread_at(struct list *node)
{
    return CONTAINER_OF(node, struct thread, rq);
}

static struct thread *due_at(struct list *node)
{
    return CONTAINER_OF(node, struct demand, link)->thread;
}

static void edf_init(void)
{
    list_init(&edf.plain);
    list_init(&edf.sized);
    list_init(&edf.deadlines);
    edf.length = 0;
}

/* Behind those that are not larger. */
static void insert_by_size(struct thread *t)
{
    struct list *after = edf.sized.prev;
    uintptr_t size = cache_working_set(t);
    while (after != &edf.sized &&
           (MUTANT(EDF_LARGEST) ? cache_working_set(thread_at(after)) < size
                                : cache_working_set(thread_at(after)) > size)) {
        after = after->prev;
    }
    list_insert_between(&t->rq, after, after->next);
}

static void insert_by_deadline(struct demand *d)
{
    struct list *after = edf.deadlines.prev;
    while (after != &edf.deadlines && cache_value(due_at(after)) > cache_value(d->thread)) {
        after = after->prev;
    }
    list_insert_between(&d->link, after, after->next);
}

static void edf_push(struct thread *t, enum pirn_why why, const struct demand_now *now)
{
    cache_room(t)[1] = now->deadline;
    if (cache_working_set(t) != 0) {
        insert_by_size(t);
    } else if (why == PIRN_WHY_HANDOFF) {
        list_push_front(&edf.plain, &t->rq);
    } else {
        list_push_back(&edf.plain, &t->rq);
    }
    if (now->deadline != 0) {
        struct demand *d = demand_of(t);
        d->thread = t;
        insert_by_deadline(d);
    }
    edf.length++;
}

static struct thread *edf_first(void)
{
    if (!list_empty(&edf.deadlines) && !MUTANT(EDF_PATIENT)) {
        struct thread *due = due_at(edf.deadlines.next);
        if (cache_value(due) < port_now()) {
            return due;
        }
    }
    if (!list_empty(&edf.plain)) {
        return thread_at(edf.plain.next);
    }
    return list_empty(&edf.sized) ? NULL : thread_at(edf.sized.next);
}

static void edf_take(struct cpu *self, struct thread *t)
{
    (void)self;
    list_remove(&t->rq);
    if (cache_value(t) != 0) {
        list_remove(&demand_of(t)->link);
    }
    edf.length--;
}

static unsigned edf_length(void)
{
    return edf.length;
}

static void edf_check(void)
{
    unsigned n = 0;
    uintptr_t size = 0;
    uint64_t deadline = 0;
    for (struct list *node = edf.plain.next; node != &edf.plain; node = node->next, n++) {
        RT_VERIFY(cache_working_set(thread_at(node)) == 0);
        RT_VERIFY(at_load_rlx(&thread_at(node)->state) == THREAD_READY);
    }
    for (struct list *node = edf.sized.next; node != &edf.sized; node = node->next, n++) {
        RT_VERIFY(cache_working_set(thread_at(node)) >= size || MUTANT(EDF_LARGEST));
        RT_VERIFY(at_load_rlx(&thread_at(node)->state) == THREAD_READY);
        size = cache_working_set(thread_at(node));
    }
    for (struct list *node = edf.deadlines.next; node != &edf.deadlines; node = node->next) {
        RT_VERIFY(cache_value(due_at(node)) >= deadline);
        RT_VERIFY(list_linked(&due_at(node)->rq));
        deadline = cache_value(due_at(node));
    }
    RT_VERIFY(n == edf.length);
}

const struct gate_order gate_edf = {
    .init = edf_init,
    .push = edf_push,
    .first = edf_first,
    .take = edf_take,
    .length = edf_length,
    .check = edf_check,
};
