/* SPDX-License-Identifier: MIT
 *
 * A bounded first-in first-out channel between threads: how the stages of mjpeg
 * and the pairs of comm talk. Any number of threads may push and pop.
 *
 * Invariants:
 *  1. 0 <= count <= depth; slots first … first+count-1 (mod depth) are in use.
 *  2. An item belongs to the fifo from push to pop, then to the popper.
 *
 * Lock: `lock` guards first and count; `not_full` and `not_empty` wait under it.
 */
#ifndef APPS_COMMON_FIFO_H
#define APPS_COMMON_FIFO_H

#include <pthread.h>
#include <stddef.h>

struct fifo {
    pthread_mutex_t lock;
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
    void **slots;
    size_t depth;
    size_t first;
    size_t count;
};

void fifo_init(struct fifo *fifo, size_t depth);
void fifo_destroy(struct fifo *fifo);

/* Blocks while the fifo is full. NULL is an item like any other. */
void fifo_push(struct fifo *fifo, void *item);

/* Blocks while the fifo is empty. */
void *fifo_pop(struct fifo *fifo);

#endif
