/* SPDX-License-Identifier: MIT */
/*
 * mix.h - between mix.c (who runs) and mix_ops.c (what they do).
 */
#ifndef PIRN_TESTS_STRESS_MIX_H
#define PIRN_TESTS_STRESS_MIX_H

#include "stress.h"

/* One that operates: a thread, a child of one, or a kernel thread. */
struct actor {
    uint64_t random;
    const char *doing; /* the operation it is in: says where a program hangs */
};

static inline uint32_t actor_random(struct actor *a, uint32_t n)
{
    return stress_random(&a->random, n);
}

/* Yield, sleep for a moment, or nothing. */
void actor_pause(struct actor *a);

/* Soon, long past, or never. */
uint64_t actor_deadline(struct actor *a);

void ops_init(void);

/* One random operation on a random object. */
void ops_one(struct actor *a);

/* Time is over: waits for a partner that may be gone end. Called again and again until all actors
 * have ended. */
void ops_release(void);

/* What must hold when nobody operates any more. Prints how much was done. */
void ops_verify(void);

extern bool mix_stop;

#endif
