/* SPDX-License-Identifier: MIT */
/*
 * mailbox.h - bounded ring of messages between one sender and one receiver.
 *
 * A message is a pointer-sized word. Invariants: `head` is written by the receiver, `tail` by the
 * sender; slots in [head, tail) belong to the receiver, the others to the sender. A slot is
 * published by the release store of tail and given back by the release store of head.
 * ORDER(mailbox)
 */
#ifndef PIRN_SCHED_MAILBOX_H
#define PIRN_SCHED_MAILBOX_H

#include "atomic.h"

#define MAILBOX_SLOTS 4u

struct mailbox {
    _Atomic(uint32_t) head; /* (receiver) */
    _Atomic(uint32_t) tail; /* (sender) */
    void *slot[MAILBOX_SLOTS];
};

ALWAYS_INLINE void mailbox_init(struct mailbox *m)
{
    at_init(&m->head, 0u);
    at_init(&m->tail, 0u);
}

/* False if it is full: the sender keeps the message. */
ALWAYS_INLINE bool mailbox_send_spsc(struct mailbox *m, void *message)
{
    uint32_t tail = at_load_rlx(&m->tail);
    if (tail - at_load_acq(&m->head) == MAILBOX_SLOTS) { /* ORDER(mailbox) */
        return false;
    }
    m->slot[tail % MAILBOX_SLOTS] = message;
    at_store_rel(&m->tail, tail + 1); /* ORDER(mailbox) */
    return true;
}

/* False if it is empty. */
ALWAYS_INLINE bool mailbox_receive_spsc(struct mailbox *m, void **message)
{
    uint32_t head = at_load_rlx(&m->head);
    if (head == at_load_acq(&m->tail)) { /* ORDER(mailbox) */
        return false;
    }
    *message = m->slot[head % MAILBOX_SLOTS];
    at_store_rel(&m->head, head + 1); /* ORDER(mailbox) */
    return true;
}

ALWAYS_INLINE bool mailbox_empty(struct mailbox *m)
{
    return at_load_acq(&m->tail) == at_load_rlx(&m->head); /* ORDER(mailbox) */
}

#endif
