/* SPDX-License-Identifier: MIT */
/*
 * classq_heap.c - back end of classq.h: a pairing heap by rank, then seq. Insertion takes constant
 * time, removal of the first amortised logarithmic time; no memory beside the threads'.
 *
 * Links: rq.next is the next sibling, rq.prev the previous one, or the parent of the first;
 * sched.child the first child. place is 1 for every thread in the heap.
 */
#include "classq.h"

ALWAYS_INLINE struct thread *sibling(const struct thread *t)
{
    return (struct thread *)t->rq.next;
}

ALWAYS_INLINE struct thread *previous(const struct thread *t)
{
    return (struct thread *)t->rq.prev;
}

ALWAYS_INLINE void link_set(struct thread *t, struct thread *prev, struct thread *next)
{
    t->rq.prev = (struct list *)prev;
    t->rq.next = (struct list *)next;
}

ALWAYS_INLINE bool before(const struct thread *a, const struct thread *b)
{
    return a->sched.rank != b->sched.rank ? a->sched.rank < b->sched.rank
                                          : a->sched.seq < b->sched.seq;
}

static struct thread *meld(struct thread *a, struct thread *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    if (before(b, a)) {
        struct thread *swap = a;
        a = b;
        b = swap;
    }
    link_set(b, a, a->sched.child);
    if (a->sched.child != NULL) {
        a->sched.child->rq.prev = (struct list *)b;
    }
    a->sched.child = b;
    link_set(a, NULL, NULL);
    return a;
}

/* Meld a list of siblings in pairs, left to right, then right to left. */
static struct thread *meld_siblings(struct thread *first)
{
    struct thread *pairs = NULL;
    while (first != NULL) {
        struct thread *a = first;
        struct thread *b = sibling(a);
        first = b != NULL ? sibling(b) : NULL;
        link_set(a, NULL, NULL);
        if (b != NULL) {
            link_set(b, NULL, NULL);
        }
        struct thread *pair = meld(a, b);
        link_set(pair, NULL, pairs);
        pairs = pair;
    }
    struct thread *root = NULL;
    while (pairs != NULL) {
        struct thread *next = sibling(pairs);
        link_set(pairs, NULL, NULL);
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

static void heap_init(struct classq *q)
{
    q->heap.root = NULL;
    q->heap.head = -1;
    q->heap.tail = 0;
}

static void heap_insert(struct classq *q, struct thread *t, bool head)
{
    /* FIFO threads of shmac have their own seq: the time of creation. */
    if (q->discipline != DISCIPLINE_SHMAC || t->sched.rank >= RANK_LEVELS) {
        t->sched.seq = head ? q->heap.head-- : q->heap.tail++;
    }
    t->sched.place = 1;
    t->sched.child = NULL;
    link_set(t, NULL, NULL);
    q->heap.root = meld(q->heap.root, t);
}

static void heap_remove(struct classq *q, struct thread *t)
{
    struct thread *children = meld_siblings(t->sched.child);
    if (t == q->heap.root) {
        q->heap.root = children;
    } else {
        struct thread *prev = previous(t);
        struct thread *next = sibling(t);
        if (prev->sched.child == t) {
            prev->sched.child = next;
        } else {
            prev->rq.next = (struct list *)next;
        }
        if (next != NULL) {
            next->rq.prev = (struct list *)prev;
        }
        q->heap.root = meld(q->heap.root, children);
    }
    t->sched.place = 0;
    t->sched.child = NULL;
    link_set(t, NULL, NULL);
}

static struct thread *heap_first(struct classq *q)
{
    return q->heap.root;
}

static void each_below(struct thread *t, void (*fn)(struct thread *t))
{
    for (; t != NULL; t = (struct thread *)t->rq.next) {
        fn(t);
        each_below(t->sched.child, fn);
    }
}

static void heap_for_each(struct classq *q, void (*fn)(struct thread *t))
{
    each_below(q->heap.root, fn);
}

const struct classq_backend classq_heap = {heap_init, heap_insert, heap_remove, heap_first,
                                           heap_for_each};
