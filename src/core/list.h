/* SPDX-License-Identifier: MIT */
/*
 * list.h - circular doubly linked list with a head node. Not thread-safe: the caller holds the
 * lock.
 *
 * Invariant: an unlinked node has next == NULL, so that "is it queued" is one load.
 */
#ifndef PIRN_CORE_LIST_H
#define PIRN_CORE_LIST_H

#include "check.h"

struct list {
    struct list *next, *prev;
};

ALWAYS_INLINE void list_init(struct list *head)
{
    head->next = head->prev = head;
}

ALWAYS_INLINE bool list_empty(const struct list *head)
{
    return head->next == head;
}

ALWAYS_INLINE bool list_linked(const struct list *node)
{
    return node->next != NULL;
}

ALWAYS_INLINE void list_insert_between(struct list *node, struct list *prev, struct list *next)
{
    RT_ASSERT(!list_linked(node));
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
}

ALWAYS_INLINE void list_push_back(struct list *head, struct list *node)
{
    list_insert_between(node, head->prev, head);
}

ALWAYS_INLINE void list_push_front(struct list *head, struct list *node)
{
    list_insert_between(node, head, head->next);
}

ALWAYS_INLINE void list_remove(struct list *node)
{
    RT_ASSERT(list_linked(node));
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = NULL;
}

ALWAYS_INLINE struct list *list_pop_front(struct list *head)
{
    struct list *node = head->next;
    if (node == head) {
        return NULL;
    }
    list_remove(node);
    return node;
}

/* Take the head's first node, if there is one, and put another at the end. */
ALWAYS_INLINE struct list *list_rotate(struct list *head, struct list *last)
{
    struct list *node = head->next;
    if (unlikely(node == head)) {
        return NULL;
    }
    head->next = node->next;
    node->next->prev = head;
    node->next = NULL;
    list_insert_between(last, head->prev, head);
    return node;
}

ALWAYS_INLINE struct list *list_pop_back(struct list *head)
{
    struct list *node = head->prev;
    if (node == head) {
        return NULL;
    }
    list_remove(node);
    return node;
}

/* The one behind the first; the first if it is alone. */
ALWAYS_INLINE struct list *list_pop_second(struct list *head)
{
    struct list *node = head->next;
    if (node == head) {
        return NULL;
    }
    node = node->next != head ? node->next : node;
    list_remove(node);
    return node;
}

/* Move everything of `from` to the back of `to`. */
ALWAYS_INLINE void list_splice_back(struct list *to, struct list *from)
{
    if (list_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    from->prev->next = to;
    to->prev->next = from->next;
    to->prev = from->prev;
    list_init(from);
}

#endif
