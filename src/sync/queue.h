/* SPDX-License-Identifier: MIT */
/* queue.h - message queues on a wait queue: queue.c. */
#ifndef PIRN_SYNC_QUEUE_H
#define PIRN_SYNC_QUEUE_H

#include "waitq.h"

struct rt_queue {
    unsigned char *room; /* (C) */
    size_t size;         /* (C) bytes of a message */
    uint32_t capacity;   /* (C) messages, at least 1 */
    uint32_t first;      /* (queue lock) place of the oldest */
    uint32_t count;      /* (queue lock) */
    uint32_t spare;
    struct waitq queue; /* its lock has no state */
};

/* -EINVAL: a value that <pirn/queue.h> does not allow. */
int rt_queue_init(struct rt_queue *q, void *room, size_t size, uint32_t capacity);

/* 0, -EAGAIN */
int rt_queue_trysend(struct rt_queue *q, const void *message);
int rt_queue_tryreceive(struct rt_queue *q, void *message);
/* 0, -ETIMEDOUT */
int rt_queue_send_until(struct rt_queue *q, const void *message, uint64_t deadline);
int rt_queue_receive_until(struct rt_queue *q, void *message, uint64_t deadline);
uint32_t rt_queue_count(struct rt_queue *q);

#endif
