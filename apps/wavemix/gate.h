/* SPDX-License-Identifier: MIT
 *
 * A gate: how one thread of wavemix wakes another. It counts, and is made of a semaphore or of a
 * mutex and a condition variable, so that both ways to wake a thread can be compared.
 */
#ifndef APPS_WAVEMIX_GATE_H
#define APPS_WAVEMIX_GATE_H

#include <pthread.h>
#include <semaphore.h>

enum gate_kind { GATE_SEM, GATE_COND };

struct gate {
    enum gate_kind kind;
    sem_t sem;
    pthread_mutex_t lock; /* guards count */
    pthread_cond_t raised;
    unsigned count;
};

void gate_init(struct gate *gate, enum gate_kind kind, unsigned count);
void gate_destroy(struct gate *gate);

/* Blocks while the count is 0, then takes 1 from it. */
void gate_wait(struct gate *gate);

/* Adds 1 to the count, and wakes a thread that waits. */
void gate_post(struct gate *gate);

#endif
