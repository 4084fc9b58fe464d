/* SPDX-License-Identifier: MIT
 *
 * Bounded channel (see fifo.h). A push or a pop signals while it holds the lock, so that the
 * scheduler sees every hand-over: these programs exist to exercise it.
 */
#include "fifo.h"

#include "check.h"

#include <stdlib.h>

void fifo_init(struct fifo *fifo, size_t depth)
{
    check_rc(pthread_mutex_init(&fifo->lock, NULL), "pthread_mutex_init");
    check_rc(pthread_cond_init(&fifo->not_full, NULL), "pthread_cond_init");
    check_rc(pthread_cond_init(&fifo->not_empty, NULL), "pthread_cond_init");
    fifo->slots = array_alloc(depth, sizeof *fifo->slots);
    fifo->depth = depth;
    fifo->first = 0;
    fifo->count = 0;
}

void fifo_destroy(struct fifo *fifo)
{
    check_rc(pthread_cond_destroy(&fifo->not_empty), "pthread_cond_destroy");
    check_rc(pthread_cond_destroy(&fifo->not_full), "pthread_cond_destroy");
    check_rc(pthread_mutex_destroy(&fifo->lock), "pthread_mutex_destroy");
    free(fifo->slots);
}

void fifo_push(struct fifo *fifo, void *item)
{
    check_rc(pthread_mutex_lock(&fifo->lock), "pthread_mutex_lock");
    while (fifo->count == fifo->depth)
        check_rc(pthread_cond_wait(&fifo->not_full, &fifo->lock), "pthread_cond_wait");
    fifo->slots[(fifo->first + fifo->count) % fifo->depth] = item;
    fifo->count++;
    check_rc(pthread_cond_signal(&fifo->not_empty), "pthread_cond_signal");
    check_rc(pthread_mutex_unlock(&fifo->lock), "pthread_mutex_unlock");
}

void *fifo_pop(struct fifo *fifo)
{
    void *item;

    check_rc(pthread_mutex_lock(&fifo->lock), "pthread_mutex_lock");
    while (fifo->count == 0)
        check_rc(pthread_cond_wait(&fifo->not_empty, &fifo->lock), "pthread_cond_wait");
    item = fifo->slots[fifo->first];
    fifo->first = (fifo->first + 1) % fifo->depth;
    fifo->count--;
    check_rc(pthread_cond_signal(&fifo->not_full), "pthread_cond_signal");
    check_rc(pthread_mutex_unlock(&fifo->lock), "pthread_mutex_unlock");
    return item;
}
