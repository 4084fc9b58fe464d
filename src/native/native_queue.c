/* SPDX-License-Identifier: MIT */
/* native_queue.c - message queues of the native API: <pirn/queue.h>. */
#include <pirn/queue.h>

#include "../sync/queue.h"

_Static_assert(sizeof(struct rt_queue) == sizeof(pirn_queue_t), "pirn_queue_t");
_Static_assert(offsetof(struct rt_queue, room) == offsetof(pirn_queue_t, room), "PIRN_QUEUE_INIT");
_Static_assert(offsetof(struct rt_queue, size) == offsetof(pirn_queue_t, size), "PIRN_QUEUE_INIT");
_Static_assert(offsetof(struct rt_queue, capacity) == offsetof(pirn_queue_t, opaque),
               "PIRN_QUEUE_INIT");

#define QUEUE(q) ((struct rt_queue *)(q))

EXPORT int pirn_queue_init(pirn_queue_t *queue, void *room, size_t size, uint32_t capacity)
{
    return rt_queue_init(QUEUE(queue), room, size, capacity);
}

EXPORT void pirn_queue_send(pirn_queue_t *queue, const void *message)
{
    rt_queue_send_until(QUEUE(queue), message, UINT64_MAX);
}

EXPORT int pirn_queue_trysend(pirn_queue_t *queue, const void *message)
{
    return rt_queue_trysend(QUEUE(queue), message);
}

EXPORT int pirn_queue_send_until(pirn_queue_t *queue, const void *message, uint64_t deadline)
{
    return rt_queue_send_until(QUEUE(queue), message, deadline);
}

EXPORT void pirn_queue_receive(pirn_queue_t *queue, void *message)
{
    rt_queue_receive_until(QUEUE(queue), message, UINT64_MAX);
}

EXPORT int pirn_queue_tryreceive(pirn_queue_t *queue, void *message)
{
    return rt_queue_tryreceive(QUEUE(queue), message);
}

EXPORT int pirn_queue_receive_until(pirn_queue_t *queue, void *message, uint64_t deadline)
{
    return rt_queue_receive_until(QUEUE(queue), message, deadline);
}

EXPORT uint32_t pirn_queue_count(pirn_queue_t *queue)
{
    return rt_queue_count(QUEUE(queue));
}
