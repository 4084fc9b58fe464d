/* SPDX-License-Identifier: MIT */
/*
 * id.h - thread ids (B5): O(1) from id to thread; the idle threads have ids below the number of
 * CPUs.
 *
 * An id is (generation << 32 | index). The index belongs to a descriptor as long as the descriptor
 * exists (recycling keeps it), so creating a thread costs nothing here; the generation changes with
 * every life.
 */
#ifndef PIRN_CORE_ID_H
#define PIRN_CORE_ID_H

#include "compiler.h"

struct thread;

/* Assign t->index. 0 or -ENOMEM. Called when a descriptor is made, not per thread. */
int id_assign(struct thread *t);
void id_release(struct thread *t);
uint64_t id_of(const struct thread *t);

/* The thread, or NULL if the id was never given or its life is over. What is returned may exit at
 * any time. */
struct thread *id_lookup(uint64_t id);

/* Record that `index` waits in join for `target` (0: no longer). True if following the targets from
 * `target` leads back to `index`: a deadlock. See id.c for why this is safe without locks. */
bool id_join_closes_cycle(uint32_t index, uint32_t target);
void id_join_clear(uint32_t index);

/* Call fn for every descriptor that exists. */
void id_for_each(void (*fn)(struct thread *t, void *arg), void *arg);
void id_reset(void);

#endif
