/* SPDX-License-Identifier: MIT */
/*
 * queue.c - message queues: a ring of messages, and threads that wait for a message or for room.
 *
 * Callers: the native API. Everything happens under the queue's lock, copying included, so a thread
 * that tests the ring and queues cannot miss a message in between. Invariants:
 *   1. Receivers wait only while the ring is empty, senders only while it is full. The capacity is
 *      at least 1, so the wait queue never holds both kinds at rest.
 *   2. Messages are handed over: a sender copies into the memory of the receiver that it wakes
 *      (wait_value), and who makes room copies the first waiting sender's message into the ring.
 *      A waiter is claimed before it is copied to or from, and made ready afterwards, so its memory
 *      stays valid.
 *   3. A thread whose wait has ended does not touch the object again.
 * Lock: queue.lock (RANK_WAITQ).
 */
#include "queue.h"

#include <errno.h>
#include <string.h>

#include "mutant.h"
#include "sync.h"
#include "wake.h"

/* wait_kind: what the thread waits to do. Its wait_value is the address of its message. */
enum { QUEUE_SEND = 1, QUEUE_RECEIVE };

int rt_queue_init(struct rt_queue *q, void *room, size_t size, uint32_t capacity)
{
    if (room == NULL || size == 0 || capacity == 0 || size > SIZE_MAX / capacity) {
        return -EINVAL;
    }
    *q = (struct rt_queue){.room = room, .size = size, .capacity = capacity};
    at_init(&q->queue.lock.word, 0u);
    return 0;
}

/* For assertions: invariant 1, as far as the first waiter shows it. */
UNUSED ALWAYS_INLINE bool queue_is_at_rest_locked(const struct rt_queue *q)
{
    const struct thread *t = waitq_peek_locked(&q->queue);
    return t == NULL || (t->wait_kind == QUEUE_SEND ? q->count == q->capacity : q->count == 0);
}

ALWAYS_INLINE void queue_check_locked(const struct rt_queue *q)
{
    RT_ASSERT(state_is_held(&q->queue.lock, RANK_WAITQ));
    RT_ASSERT(q->room != NULL && q->count <= q->capacity && q->first < q->capacity);
    RT_ASSERT(queue_is_at_rest_locked(q) || MUTANT(QUEUE_DROP));
    (void)q;
}

/* The place of the n-th oldest message. */
ALWAYS_INLINE void *queue_place(const struct rt_queue *q, uint32_t n)
{
    uint32_t to_end = q->capacity - q->first;
    return q->room + q->size * (n < to_end ? q->first + n : n - to_end);
}

static void queue_append_locked(struct rt_queue *q, const void *message)
{
    RT_ASSERT(q->count < q->capacity);
    memcpy(queue_place(q, q->count), message, q->size);
    q->count++;
}

static void queue_take_locked(struct rt_queue *q, void *message)
{
    RT_ASSERT(q->count != 0);
    if (MUTANT(QUEUE_LIFO)) {
        memcpy(message, queue_place(q, --q->count), q->size);
        return;
    }
    memcpy(message, queue_place(q, 0), q->size);
    q->first = q->first + 1 < q->capacity ? q->first + 1 : 0;
    q->count--;
}

ALWAYS_INLINE void *message_of(const struct thread *t)
{
    return (void *)(uintptr_t)t->wait_value;
}

/* False: the queue is full. `woken`: the receiver that has the message, or NULL. */
static bool queue_put_locked(struct rt_queue *q, const void *message, struct thread **woken)
{
    struct thread *t = NULL;
    queue_check_locked(q);
    if (q->count == q->capacity) {
        return false;
    }
    if (!waitq_empty_locked(&q->queue)) {
        t = waitq_pop_kind_locked(&q->queue, QUEUE_RECEIVE);
    }
    if (t != NULL) {
        memcpy(message_of(t), message, q->size);
    } else {
        queue_append_locked(q, message);
    }
    *woken = t;
    return true;
}

/* False: the queue is empty. `woken`: the sender whose message is in the queue now, or NULL. */
static bool queue_get_locked(struct rt_queue *q, void *message, struct thread **woken)
{
    struct thread *t = NULL;
    queue_check_locked(q);
    if (q->count == 0) {
        return false;
    }
    queue_take_locked(q, message);
    if (!waitq_empty_locked(&q->queue) && !MUTANT(QUEUE_DROP)) {
        t = waitq_pop_kind_locked(&q->queue, QUEUE_SEND);
    }
    if (t != NULL) {
        queue_append_locked(q, message_of(t));
    }
    *woken = t;
    return true;
}

ALWAYS_INLINE bool queue_move_locked(struct rt_queue *q, uint8_t kind, void *message,
                                     struct thread **woken)
{
    return kind == QUEUE_SEND ? queue_put_locked(q, message, woken)
                              : queue_get_locked(q, message, woken);
}

static void queue_moved(struct cpu *cpu, struct rt_queue *q, struct thread *woken,
                        unsigned long irq)
{
    state_unlock(&q->queue.lock, RANK_WAITQ);
    if (woken != NULL) {
        rt_wake(cpu, woken, PIRN_WHY_HANDOFF);
    }
    rt_leave_woken(irq);
}

static int queue_try(struct rt_queue *q, uint8_t kind, void *message)
{
    unsigned long irq;
    struct thread *woken;
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&q->queue.lock, RANK_WAITQ);
    if (queue_move_locked(q, kind, message, &woken)) {
        queue_moved(cpu, q, woken, irq);
        return 0;
    }
    state_unlock(&q->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return -EAGAIN;
}

static int queue_until(struct rt_queue *q, uint8_t kind, void *message, uint64_t deadline)
{
    unsigned long irq;
    struct thread *woken;
    RT_ASSERT(rt_is_outside() && lockrank_none_held());
    struct thread *self = rt_self();
    struct cpu *cpu = rt_enter(&irq);
    state_lock(&q->queue.lock, RANK_WAITQ);
    if (queue_move_locked(q, kind, message, &woken)) {
        queue_moved(cpu, q, woken, irq);
        return 0;
    }
    struct waitq_options options = {.deadline = deadline,
                                    .object = q,
                                    .reason = kind == QUEUE_SEND ? WAIT_ROOM : WAIT_MESSAGE,
                                    .kind = kind,
                                    .rank = RANK_WAITQ};
    self->wait_value = (uintptr_t)message;
    int result = waitq_block_locked(&q->queue, &options);
    RT_ASSERT(result != -ETIMEDOUT || deadline != UINT64_MAX);
    rt_leave(irq);
    return result;
}

int rt_queue_trysend(struct rt_queue *q, const void *message)
{
    return queue_try(q, QUEUE_SEND, (void *)(uintptr_t)message);
}

int rt_queue_tryreceive(struct rt_queue *q, void *message)
{
    return queue_try(q, QUEUE_RECEIVE, message);
}

int rt_queue_send_until(struct rt_queue *q, const void *message, uint64_t deadline)
{
    return queue_until(q, QUEUE_SEND, (void *)(uintptr_t)message, deadline);
}

int rt_queue_receive_until(struct rt_queue *q, void *message, uint64_t deadline)
{
    return queue_until(q, QUEUE_RECEIVE, message, deadline);
}

uint32_t rt_queue_count(struct rt_queue *q)
{
    unsigned long irq;
    rt_enter(&irq);
    state_lock(&q->queue.lock, RANK_WAITQ);
    uint32_t count = q->count;
    state_unlock(&q->queue.lock, RANK_WAITQ);
    rt_leave(irq);
    return count;
}
