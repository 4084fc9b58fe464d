/* SPDX-License-Identifier: MIT */
/*
 * sim_ready.c (simulator) - ready threads in the hardware (port_ready.h): short queues, so that
 * they are often full. Any CPU may take from any queue, and may get nothing if there are several.
 *
 * `order` stands for the memory order alone: the giver's read-modify-write is a release, the
 * taker's an acquire. Everything else runs without a scheduling point.
 */
#include <string.h>

#include "cpu.h"
#include "port_ready.h"
#include "runtime.h"
#include "sim_internal.h"

enum { ROOM = 3 };

static struct queue {
    struct thread *threads[ROOM];
    unsigned count;
    _Atomic(uint32_t) order;
} queues[RT_MAX_CPUS];

void sim_ready_reset(void)
{
    for (unsigned i = 0; i < RT_MAX_CPUS; i++) {
        queues[i].count = 0;
        at_init(&queues[i].order, 0u);
    }
}

unsigned port_ready_room(void)
{
    return ROOM;
}

bool port_ready_give(struct thread *t)
{
    struct cpu *self = port_cpu_self();
    struct queue *q = &queues[self != NULL && self->id != RT_NO_CPU ? self->id : 0];
    at_add_acq_rel(&q->order, 1u); /* ORDER(hw) */
    if (q->count == ROOM) {
        return false;
    }
    q->threads[q->count++] = t;
    return true;
}

struct thread *port_ready_take(unsigned cycles)
{
    (void)cycles;
    sim_point('r', 0);
    unsigned left = port_ready_count();
    if (left == 0 || (rt.ncpu > 1 && sim_choose(8) == 0)) {
        return NULL;
    }
    unsigned i = sim_choose(rt.ncpu);
    while (queues[i].count == 0) {
        i = (i + 1) % rt.ncpu;
    }
    struct queue *q = &queues[i];
    struct thread *t = q->threads[0];
    q->count--;
    memmove(&q->threads[0], &q->threads[1], q->count * sizeof(q->threads[0]));
    at_add_acq_rel(&q->order, 1u); /* ORDER(hw) */
    return t;
}

unsigned port_ready_count(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        count += queues[i].count;
    }
    return count;
}
