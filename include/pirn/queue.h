/* SPDX-License-Identifier: MIT */
/*
 * queue.h - message queues: messages of a fixed size, copied into and out of memory that the caller
 * provides. Threads wait for room and for messages; threads and interrupt handlers send and receive
 * without waiting.
 *
 *     #include <pirn/queue.h>
 *
 *     static struct sample room[16];
 *     static pirn_queue_t samples = PIRN_QUEUE_INIT(room);
 *
 *     pirn_queue_trysend(&samples, &sample);      a handler; -EAGAIN: 16 samples wait already
 *     pirn_queue_receive(&samples, &sample);      a thread
 *
 * The conventions are those of pirn.h. A queue must be initialised before use. (After CMSIS-RTOS2
 * osMessageQueue and Zephyr k_msgq.)
 */
#ifndef PIRN_QUEUE_H
#define PIRN_QUEUE_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Messages are received in the order in which they were sent. Waiting senders, and waiting
 * receivers, are served by priority, then first come, first served; a message goes directly from a
 * sender to a receiver that waits, and nobody overtakes a waiter of the same priority. A message is
 * copied while interrupts are disabled on the caller's CPU: send pointers to large data.
 */
typedef struct pirn_queue {
    void *room;
    size_t size;
    uint32_t opaque[4];
    pirn_waitq_t queue;
} pirn_queue_t;

/* An empty queue whose messages are kept in this array, and are of its elements' type. */
#define PIRN_QUEUE_INIT(array)                                                                     \
    {                                                                                              \
        (array), sizeof((array)[0]), {sizeof(array) / sizeof((array)[0])},                         \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }

/* Make it empty, with room for `capacity` messages of `size` bytes at `room`. No other thread may
 * use it meanwhile. -EINVAL: `room` is NULL, a number is 0, or the room is larger than the address
 * space. Any context, no cancellation point. */
int pirn_queue_init(pirn_queue_t *queue, void *room, size_t size, uint32_t capacity);

/*
 * Send a message: `size` bytes are copied from `message`. pirn_queue_send waits while the queue is
 * full; trysend returns -EAGAIN at once; send_until waits until `deadline`, ns of pirn_now(), then
 * -ETIMEDOUT. If the call fails, nothing was sent.
 * Context: threads; pirn_queue_trysend also interrupt handlers on boards, and between
 * pirn_call_begin and pirn_call_end. No cancellation point.
 */
void pirn_queue_send(pirn_queue_t *queue, const void *message);
int pirn_queue_trysend(pirn_queue_t *queue, const void *message);
int pirn_queue_send_until(pirn_queue_t *queue, const void *message, uint64_t deadline);

/* Receive the oldest message: `size` bytes are copied to `message`. pirn_queue_receive waits while
 * the queue is empty; tryreceive returns -EAGAIN at once; receive_until waits until `deadline`,
 * then -ETIMEDOUT, and does not change `message`. Context: as for sending. */
void pirn_queue_receive(pirn_queue_t *queue, void *message);
int pirn_queue_tryreceive(pirn_queue_t *queue, void *message);
int pirn_queue_receive_until(pirn_queue_t *queue, void *message, uint64_t deadline);

/* How many messages are in the queue; another thread may change it at once. Any context. */
uint32_t pirn_queue_count(pirn_queue_t *queue);

#ifdef __cplusplus
}
#endif

#endif
