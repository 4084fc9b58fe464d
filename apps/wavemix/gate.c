/* SPDX-License-Identifier: MIT
 *
 * Gates (see gate.h).
 */
#include "gate.h"

#include "check.h"

void gate_init(struct gate *gate, enum gate_kind kind, unsigned count)
{
    gate->kind = kind;
    gate->count = count;
    semaphore_init(&gate->sem, count);
    check_rc(pthread_mutex_init(&gate->lock, NULL), "pthread_mutex_init");
    check_rc(pthread_cond_init(&gate->raised, NULL), "pthread_cond_init");
}

void gate_destroy(struct gate *gate)
{
    check_rc(pthread_cond_destroy(&gate->raised), "pthread_cond_destroy");
    check_rc(pthread_mutex_destroy(&gate->lock), "pthread_mutex_destroy");
    semaphore_destroy(&gate->sem);
}

static void cond_wait(struct gate *gate)
{
    check_rc(pthread_mutex_lock(&gate->lock), "pthread_mutex_lock");
    while (gate->count == 0)
        check_rc(pthread_cond_wait(&gate->raised, &gate->lock), "pthread_cond_wait");
    gate->count--;
    check_rc(pthread_mutex_unlock(&gate->lock), "pthread_mutex_unlock");
}

static void cond_post(struct gate *gate)
{
    check_rc(pthread_mutex_lock(&gate->lock), "pthread_mutex_lock");
    gate->count++;
    check_rc(pthread_cond_signal(&gate->raised), "pthread_cond_signal");
    check_rc(pthread_mutex_unlock(&gate->lock), "pthread_mutex_unlock");
}

void gate_wait(struct gate *gate)
{
    if (gate->kind == GATE_SEM)
        semaphore_wait(&gate->sem);
    else
        cond_wait(gate);
}

void gate_post(struct gate *gate)
{
    if (gate->kind == GATE_SEM)
        semaphore_post(&gate->sem);
    else
        cond_post(gate);
}
