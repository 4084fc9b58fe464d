/* SPDX-License-Identifier: MIT */
/*
 * mix.h - the interface between mix.c (actors), mix_ops.c and mix_objects.c (operations).
 */
#ifndef PIRN_TESTS_STRESS_MIX_H
#define PIRN_TESTS_STRESS_MIX_H

#include "stress.h"

/* An actor: a thread, a child of one, or a kernel thread. */
struct actor {
    uint64_t random;
    const char *doing; /* the current operation: shows where a program hangs */
};

static inline uint32_t actor_random(struct actor *a, uint32_t n)
{
    return stress_random(&a->random, n);
}

/* Yield, sleep for a moment, or nothing. */
void actor_pause(struct actor *a);

/* A deadline that is soon, long past, or never. */
uint64_t actor_deadline(struct actor *a);

void ops_init(void);

/* One random operation on a random object. */
void ops_one(struct actor *a);

/* Time is over: end waits for a partner that may be gone. Called repeatedly until all actors have
 * ended. */
void ops_release(void);

/* Check the invariants when all actors have ended. Prints how much was done. */
void ops_verify(void);

/* The part of mix_objects.c: the same for flags, queues and timers. */
void op_flags(struct actor *a);
void op_queue(struct actor *a);
void op_timer(struct actor *a);
void objects_init(void);
void objects_release(void);
void objects_verify(void);

extern bool mix_stop;

#endif
