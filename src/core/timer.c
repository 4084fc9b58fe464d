/* SPDX-License-Identifier: MIT */
/*
 * timer.c - see timer.h. Lock: timer_heap.lock (RANK_TIMER), under which run-queue locks are taken
 * by expiry.
 *
 * timer_disarm takes the lock even if the timer has expired: the expiry function may still be
 * looking at the thread, which is about to wait again.
 */
#include "cpu.h"
#include "port_preempt.h"
#include "thread.h"

static struct timer *heap_meld(struct timer *a, struct timer *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    if (b->deadline < a->deadline) {
        struct timer *swap = a;
        a = b;
        b = swap;
    }
    b->prev = a;
    b->sibling = a->child;
    if (a->child != NULL) {
        a->child->prev = b;
    }
    a->child = b;
    a->sibling = a->prev = NULL;
    return a;
}

/* Meld a list of siblings in pairs, left to right, then right to left. */
static struct timer *heap_meld_siblings(struct timer *first)
{
    struct timer *pairs = NULL;
    while (first != NULL) {
        struct timer *a = first;
        struct timer *b = a->sibling;
        first = b != NULL ? b->sibling : NULL;
        a->sibling = a->prev = NULL;
        if (b != NULL) {
            b->sibling = b->prev = NULL;
        }
        struct timer *pair = heap_meld(a, b);
        pair->sibling = pairs;
        pairs = pair;
    }
    struct timer *root = NULL;
    while (pairs != NULL) {
        struct timer *next = pairs->sibling;
        pairs->sibling = NULL;
        root = heap_meld(root, pairs);
        pairs = next;
    }
    return root;
}

void timer_heap_insert(struct timer_heap *heap, struct timer *timer)
{
    RT_ASSERT(!timer->armed);
    timer->child = timer->sibling = timer->prev = NULL;
    timer->armed = true;
    heap->root = heap_meld(heap->root, timer);
    at_store_rlx(&heap->armed, at_load_rlx(&heap->armed) + 1);
}

void timer_heap_remove(struct timer_heap *heap, struct timer *timer)
{
    if (timer == heap->root) {
        heap->root = heap_meld_siblings(timer->child);
    } else {
        if (timer->prev->child == timer) {
            timer->prev->child = timer->sibling;
        } else {
            timer->prev->sibling = timer->sibling;
        }
        if (timer->sibling != NULL) {
            timer->sibling->prev = timer->prev;
        }
        heap->root = heap_meld(heap->root, heap_meld_siblings(timer->child));
    }
    timer->child = timer->sibling = timer->prev = NULL;
    timer->armed = false;
    at_store_rlx(&heap->armed, at_load_rlx(&heap->armed) - 1);
}

bool timer_arm(struct cpu *cpu, struct timer *timer, uint64_t deadline)
{
    struct timer_heap *heap = &cpu->timers;
    spin_lock(&heap->lock, RANK_TIMER);
    timer->deadline = deadline;
    timer->heap = heap;
    timer_heap_insert(heap, timer);
    bool earliest = heap->root == timer;
    spin_unlock(&heap->lock, RANK_TIMER);
    return earliest;
}

uint64_t timer_next(struct cpu *cpu)
{
    struct timer_heap *heap = &cpu->timers;
    spin_lock(&heap->lock, RANK_TIMER);
    uint64_t next = heap->root != NULL ? heap->root->deadline : UINT64_MAX;
    spin_unlock(&heap->lock, RANK_TIMER);
    return next;
}

void timer_disarm(struct timer *timer)
{
    struct timer_heap *heap = timer->heap;
    spin_lock(&heap->lock, RANK_TIMER);
    if (timer->armed) {
        timer_heap_remove(heap, timer);
    }
    spin_unlock(&heap->lock, RANK_TIMER);
}

uint64_t timer_expire(struct cpu *cpu, uint64_t now)
{
    struct timer_heap *heap = &cpu->timers;
    uint64_t next = UINT64_MAX;
    spin_lock(&heap->lock, RANK_TIMER);
    for (uint32_t room = PORT_EXPIRE_MOST; heap->root != NULL; room--) {
        struct timer *due = heap->root;
        if (due->deadline > now || room == 0) {
            next = due->deadline;
            break;
        }
        timer_heap_remove(heap, due);
        waitq_timeout(CONTAINER_OF(due, struct thread, timer));
    }
    spin_unlock(&heap->lock, RANK_TIMER);
    return next;
}
