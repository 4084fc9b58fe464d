/* SPDX-License-Identifier: MIT */
/*
 * shared_count.c - semaphore, barrier and condition variable between processes. See shared.h.
 *
 * Semaphore: value and number of waiters are one word of 64 bits, so a post sees both at once. With
 * waiters it wakes one, which competes with arrivals. A waiter counts itself before its last look,
 * and takes its count back together with the unit.
 *
 * Barrier: `in` counts arrivals, over many rounds. The last arrival of a round raises `round` to
 * its own number, and all arrivals up to this number go. At CYCLE arrivals, a whole number of
 * rounds before `in` overflows, no thread enters; the last one to leave resets everything, and lets
 * them in again.
 *
 * Condition variable: a waiter takes the number of signals so far as its ticket, while it holds the
 * mutex, and waits for that number to change. So a signal after the mutex was unlocked is not lost.
 * A signal may release two threads: the one that it wakes, and one that has taken its ticket and is
 * not asleep yet. A woken waiter returns even if its ticket is newer than the signal, because it
 * has used the only wake-up: no other waiter would get one.
 */
#include <errno.h>

#include "mutant.h"
#include "shared.h"

#define VALUE(word) ((uint32_t)(word))
#define VALUE_MAX 0x7fffffffu
#define ONE_WAITER (UINT64_C(1) << 32)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the value lies in the first four bytes");

static _Atomic(uint32_t) *value_of(struct rt_shsem *s)
{
    return (_Atomic(uint32_t) *)&s->word;
}

uint32_t rt_shsem_value(struct rt_shsem *s)
{
    return VALUE(at_load_rlx(&s->word));
}

int rt_shsem_trywait(struct rt_shsem *s)
{
    uint64_t word = at_load_rlx(&s->word);
    while (VALUE(word) != 0) {
        if (at_cas_acq(&s->word, &word, word - 1)) { /* ORDER(sem) */
            return 0;
        }
    }
    return -EAGAIN;
}

int rt_shsem_wait(struct rt_shsem *s, const struct rt_shared_limit *limit)
{
    if (rt_shsem_trywait(s) == 0) {
        return 0;
    }
    at_add_acq_rel(&s->word, ONE_WAITER); /* ORDER(sem) */
    uint64_t word = at_load_rlx(&s->word);
    for (;;) {
        RT_ASSERT(word >= ONE_WAITER); /* the caller */
        if (VALUE(word) == 0) {
            int error = rt_shared_wait_interruptible(value_of(s), 0, limit);
            if (error != 0) {
                uint64_t before = at_sub_acq_rel(&s->word, ONE_WAITER); /* ORDER(sem) */
                RT_ASSERT(before >= ONE_WAITER);
                return error;
            }
            word = at_load_rlx(&s->word);
        } else if (at_cas_acq(&s->word, &word, word - 1 - ONE_WAITER)) { /* ORDER(sem) */
            return 0;
        }
    }
}

int rt_shsem_post(struct rt_shsem *s)
{
    uint64_t word = at_load_rlx(&s->word);
    do {
        if (VALUE(word) >= VALUE_MAX) {
            return -EOVERFLOW;
        }
    } while (!at_cas_rel(&s->word, &word, word + 1)); /* ORDER(sem) */
    if (word >= ONE_WAITER && !MUTANT(SHARED_DROP)) {
        rt_shared_wake(value_of(s), 1);
    }
    return 0;
}

int rt_shsem_destroy(struct rt_shsem *s)
{
    return at_load_rlx(&s->word) >= ONE_WAITER ? -EBUSY : 0;
}

/* ---- barrier ---- */

#ifdef PIRN_SIM
#define CYCLE_MAX 8u
#else
#define CYCLE_MAX (UINT32_MAX / 2)
#endif

ALWAYS_INLINE uint32_t cycle_of(const struct rt_shbarrier *b)
{
    return CYCLE_MAX - CYCLE_MAX % b->count;
}

static uint32_t barrier_arrive(struct rt_shbarrier *b)
{
    for (;;) {
        uint32_t i = at_add_acq_rel(&b->in, 1u) + 1; /* ORDER(barrier-shared) */
        while (i > cycle_of(b)) {
            rt_shared_wait(&b->in, i, NULL);
            i = at_load_rlx(&b->in);
            if (i <= cycle_of(b)) {
                i = 0;
            }
        }
        if (i != 0) {
            return i;
        }
    }
}

/* Raise `round` to the last whole round up to arrival i. */
static void barrier_open(struct rt_shbarrier *b, uint32_t i)
{
    uint32_t last = i - i % b->count;
    uint32_t round = at_load_rlx(&b->round);
    RT_ASSERT(i != 0 && i <= cycle_of(b));
    while (round < last) {
        RT_ASSERT(round % b->count == 0);
        if (at_cas_rel(&b->round, &round, last)) { /* ORDER(barrier-shared) */
            if (!MUTANT(SHARED_DROP)) {
                rt_shared_wake(&b->round, RT_SHARED_ALL);
            }
            return;
        }
    }
}

static void barrier_leave(struct rt_shbarrier *b)
{
    uint32_t cycle = cycle_of(b);
    uint32_t gone = at_add_acq_rel(&b->out, 1u) + 1; /* ORDER(barrier-shared) */
    RT_ASSERT(gone <= cycle);
    if (gone == cycle) {
        RT_ASSERT(at_peek(&b->in) >= cycle && at_peek(&b->round) == cycle);
        at_store_rlx(&b->round, 0u);
        at_store_rlx(&b->out, 0u);
        at_store_rel(&b->in, 0u); /* ORDER(barrier-shared) */
        rt_shared_wake(&b->in, RT_SHARED_ALL);
    }
}

bool rt_shbarrier_wait(struct rt_shbarrier *b)
{
    uint32_t count = b->count;
    uint32_t i = barrier_arrive(b);
    barrier_open(b, i);
    for (;;) {
        uint32_t round = at_load_acq(&b->round); /* ORDER(barrier-shared) */
        if (i <= round) {
            break;
        }
        rt_shared_wait(&b->round, round, NULL);
    }
    barrier_leave(b);
    return i % count == 0;
}

int rt_shbarrier_destroy(struct rt_shbarrier *b)
{
    uint32_t in = at_load_rlx(&b->in);
    if (in % b->count != 0) {
        return -EBUSY;
    }
    /* After CYCLE arrivals the last to leave resets it, and sets `in` to 0 when it is through. */
    for (unsigned round = 0;
         in == cycle_of(b) || at_load_acq(&b->out) != in; /* ORDER(barrier-shared) */
         round++) {
        rt_yield();
        port_relax(round);
        in = at_load_acq(&b->in); /* ORDER(barrier-shared) */
    }
    return 0;
}

/* ---- condition variable ---- */

#define DESTROYING 0x80000000u

uint32_t rt_shcond_enter(struct rt_shcond *c)
{
    at_add_rlx(&c->waiters, 1u);
    return at_load_rlx(&c->seq);
}

/* The last access to it. */
void rt_shcond_leave(struct rt_shcond *c)
{
    uint32_t before = at_sub_acq_rel(&c->waiters, 1u); /* ORDER(cond-shared) */
    RT_ASSERT((before & ~DESTROYING) != 0);
    if (before == (DESTROYING | 1u)) {
        rt_shared_wake(&c->waiters, RT_SHARED_ALL);
    }
}

int rt_shcond_wait(struct rt_shcond *c, uint32_t ticket, const struct rt_shared_limit *limit)
{
    int error = 0;
    if (at_load_rlx(&c->seq) == ticket) {
        error = rt_shared_wait_point(&c->seq, ticket, limit);
    }
    RT_ASSERT(error != -EINTR);
    RT_ASSERT(error != -ETIMEDOUT || limit != NULL);
    rt_shcond_leave(c);
    return error;
}

void rt_shcond_wake(struct rt_shcond *c, unsigned n)
{
    if (at_load_rlx(&c->waiters) != 0) {
        at_add_rlx(&c->seq, 1u);
        if (!MUTANT(SHARED_DROP)) {
            rt_shared_wake(&c->seq, n);
        }
    }
}

void rt_shcond_destroy(struct rt_shcond *c)
{
    uint32_t waiters = at_or_acq_rel(&c->waiters, DESTROYING) | DESTROYING; /* ORDER(cond-shared) */
    while (waiters != DESTROYING) {
        rt_shared_wait(&c->waiters, waiters, NULL);
        waiters = at_load_acq(&c->waiters); /* ORDER(cond-shared) */
    }
}
