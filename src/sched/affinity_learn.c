/* SPDX-License-Identifier: MIT */
/*
 * affinity_learn.c - affinity=auto: producers that are learned from wake-ups, without a word from
 * the program.
 *
 * A thread that waits for a semaphore, a condition, a barrier, or a Full/Empty word is mostly woken
 * by the thread that has written what it waits for. So the waker is taken for a producer. Locks are
 * left out: the thread that unlocks one has written nothing for the next owner. So are semaphores
 * that did not begin at 0, which count free places, and sleeps, joins, descriptors and signals.
 *
 * Each thread has a few entries, as in the algorithm of Misra and Gries for frequent items: the
 * waker's entry gains; a waker without an entry takes a free one, or every entry loses. So wakers
 * that are frequent stay, and the rest is forgotten. An entry counts as a producer from
 * SEEN_ENOUGH on.
 *
 * Direction. Two threads that pass a buffer to each other wake each other: for data, and for room;
 * where conditions do it, the two look alike. Only one of them is taken for the producer: that
 * whose entry reached SEEN_ENOUGH first. And a consumer that was placed by a learned producer, and
 * had to be taken away by an idle CPU because the producer went on, costs its entry SEEN_LOSS: such
 * a placement did harm.
 *
 * Entries belong to whoever owns the thread: the waker that has unlinked it, the policy, the CPU
 * that takes it. Other CPUs read them without order (invariant 2 of producers.h).
 */
#include "affinity_queue.h"
#include "mutant.h"
#include "objects.h"

#define SEEN_ENOUGH 4u
#define SEEN_MOST 32u
#define SEEN_LOSS 8u

/* Does such a wait end when another thread has written something? */
static bool reads_data(const struct thread *t)
{
    switch ((enum wait_reason)t->wait_reason) {
    case WAIT_SEM:
        return !rt_objects.waited_for_room(t);
    case WAIT_COND:
    case WAIT_BARRIER:
    case WAIT_FE_FULL:
    case WAIT_FLAGS:
    case WAIT_MESSAGE:
    case WAIT_LABEL:
        return true;
    default:
        return false;
    }
}

static bool is(const struct producer_seen *seen, const struct id_slot *slot, uint32_t life)
{
    return at_load_rlx(&seen->slot) == slot && at_load_rlx(&seen->life) == life;
}

/* Its entry in the record of a life; NULL: none. */
static struct producer_seen *entry_of(struct consumer *c, uint32_t life, const struct thread *of)
{
    if (at_load_rlx(&c->seen_life) != life) {
        return NULL;
    }
    for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
        if (at_load_rlx(&c->seen[i].weight) != 0 && is(&c->seen[i], of->id_slot, of->generation)) {
            return &c->seen[i];
        }
    }
    return NULL;
}

bool affinity_counts_as_producer(const struct producer_seen *seen)
{
    return at_load_rlx(&((struct producer_seen *)(uintptr_t)seen)->weight) >= SEEN_ENOUGH;
}

/* The record of t's life, empty if an earlier life has left it. NULL: there was no memory. */
static struct consumer *record_of(const struct thread *t)
{
    struct consumer *c = rt_record_of(t);
    if (c != NULL && at_load_rlx(&c->seen_life) != t->generation) {
        for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
            at_store_rlx(&c->seen[i].weight, 0u);
        }
        at_store_rlx(&c->seen_life, t->generation);
    }
    return c;
}

static void gain(struct producer_seen *seen)
{
    uint32_t weight = at_load_rlx(&seen->weight);
    at_store_rlx(&seen->weight, weight < SEEN_MOST ? weight + 1 : weight);
}

static void lose(struct producer_seen *seen, uint32_t loss)
{
    uint32_t weight = at_load_rlx(&seen->weight);
    at_store_rlx(&seen->weight, weight > loss ? weight - loss : 0);
}

/* A free entry for `of`; if there is none, all lose, and a later waker may find one. */
static void enter(struct consumer *c, const struct thread *of)
{
    for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
        if (at_load_rlx(&c->seen[i].weight) == 0) {
            at_store_rlx(&c->seen[i].slot, of->id_slot);
            at_store_rlx(&c->seen[i].life, of->generation);
            at_store_rel(&c->seen[i].weight, 1u); /* ORDER(consumer) */
            return;
        }
    }
    for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
        lose(&c->seen[i], 1);
    }
}

/* Is t taken for a producer of `waker`? */
static bool is_producer_of(const struct thread *t, const struct thread *waker)
{
    struct consumer *c = rt_record_of(waker);
    struct producer_seen *seen = c != NULL ? entry_of(c, waker->generation, t) : NULL;
    return seen != NULL && affinity_counts_as_producer(seen) && !MUTANT(LEARN_BOTH);
}

/* Of wake-ups by declared producers, by learned ones, and by threads that are both. */
static void count_agreement(struct cpu *self, const struct consumer *c, const struct thread *t,
                            const struct thread *waker, const struct producer_seen *seen)
{
    struct affinity_counts *n = &affinity_of(self)->counts;
    bool learned = seen != NULL && affinity_counts_as_producer(seen);
    bool declared = rt_is_producer(c, t->generation, waker);
    affinity_add(&n->learned, learned);
    affinity_add(&n->declared, declared);
    affinity_add(&n->agreed, learned && declared);
}

void affinity_learn(struct cpu *self, struct thread *t)
{
    struct thread *waker = self != NULL ? self->current : NULL;
    if (waker == NULL || waker == t || (waker->flags & THREAD_IDLE) || !reads_data(t)) {
        return;
    }
    struct consumer *c = record_of(t);
    if (c == NULL) {
        return;
    }
    struct producer_seen *seen = entry_of(c, t->generation, waker);
    count_agreement(self, c, t, waker, seen);
    if (is_producer_of(t, waker)) {
        if (seen != NULL) {
            lose(seen, 1);
        }
    } else if (seen != NULL) {
        gain(seen);
    } else {
        enter(c, waker);
    }
}

void affinity_unlearn(struct consumer *c, const struct affinity_cpu *from)
{
    const struct id_slot *slot = at_load_rlx(&from->last);
    uint32_t life = at_load_rlx(&from->last_life);
    for (unsigned i = 0; i < RT_PRODUCERS_SEEN; i++) {
        if (is(&c->seen[i], slot, life)) {
            lose(&c->seen[i], SEEN_LOSS);
        }
    }
}
