/* SPDX-License-Identifier: MIT */
/*
 * gate.h - the orders of policy gate (gate.c, which has the rules): which ready thread is next.
 * Another policy file per order; all functions are called with the cache's lock held.
 */
#ifndef PIRN_SCHED_GATE_H
#define PIRN_SCHED_GATE_H

#include "cache.h"

struct gate_order {
    void (*init)(void);

    /* t, with its working set in its room, becomes ready. */
    void (*push)(struct thread *t, enum pirn_why why, const struct demand_now *now);

    /* The next thread, which stays where it is. NULL: none is ready. */
    struct thread *(*first)(void);

    /* CPU self takes t, the first one. */
    void (*take)(struct cpu *self, struct thread *t);

    unsigned (*length)(void);
    void (*check)(void);
};

HIDDEN extern const struct gate_order gate_edf;

#endif
