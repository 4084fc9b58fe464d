/* SPDX-License-Identifier: MIT */
/*
 * thief.c - policy "steal": how many threads a CPU without work takes, and from which end. On Linux
 * and on boards, with the options of the policy and in libraries that have no options.
 *
 * The main thread fills the queue of its CPU and does not give the CPU up. All other CPUs are kept
 * by helpers, until one of them ends: its CPU takes all threads, in the order that is recorded.
 * Without a join before, threads are taken from the tail; after a join of the newest thread with
 * end=far from the head.
 */
#include <pirn/static.h>

#include "say.h"

#define STACK_BYTES (64u << 10)
#define THREADS 16u
#define NEWEST THREADS
#define HELPERS 7u
#define ALL (THREADS + 1 + HELPERS)

static unsigned char stacks[ALL][STACK_BYTES] __attribute__((aligned(64)));
static pirn_thread_storage_t storage[ALL];
static pirn_static_thread_t threads[ALL];
static unsigned order[THREADS]; /* which thread was the n-th to run */
static unsigned ran, kept;      /* threads, helpers that have begun */
static unsigned leaving;        /* helpers that are to end */

static unsigned get(const unsigned *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void *runs(void *arg)
{
    unsigned n = __atomic_load_n(&ran, __ATOMIC_RELAXED); /* one after the other */
    order[n] = (unsigned)((pirn_static_thread_t *)arg - threads);
    __atomic_store_n(&ran, n + 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *nothing(void *arg)
{
    return arg;
}

/* The helpers leave one by one. */
static void *keeps_its_cpu(void *arg)
{
    unsigned turn = __atomic_add_fetch(&kept, 1, __ATOMIC_ACQ_REL);
    while (get(&leaving) < turn) {
    }
    return arg;
}

static void create(unsigned i, void *(*fn)(void *))
{
    threads[i] = (pirn_static_thread_t){.fn = fn,
                                        .arg = &threads[i],
                                        .stack = stacks[i],
                                        .stack_size = STACK_BYTES,
                                        .storage = &storage[i],
                                        .name = "thief"};
    CHECK(pirn_static_create(&threads[i]) == 0);
}

static void join(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        CHECK(pirn_static_join(&threads[i], NULL) == 0);
    }
}

/* Fill `order`. */
static void steal_all(unsigned helpers, bool joins)
{
    ran = kept = leaving = 0;
    for (unsigned i = 0; i < helpers; i++) {
        create(NEWEST + 1 + i, keeps_its_cpu);
        while (get(&kept) != i + 1) {
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        create(i, runs);
    }
    if (joins) {
        create(NEWEST, nothing);
        join(NEWEST, NEWEST + 1);
    }
    __atomic_store_n(&leaving, 1, __ATOMIC_RELEASE);
    while (get(&ran) != THREADS) {
    }
    __atomic_store_n(&leaving, helpers, __ATOMIC_RELEASE);
    join(0, THREADS);
    join(NEWEST + 1, NEWEST + 1 + helpers);
}

/* Is it the order in which a thief takes from the tail: half of the threads, or one, at a time? */
static bool taken_from_tail(bool half)
{
    unsigned n = 0;
    for (unsigned left = THREADS; left != 0;) {
        unsigned taken = half ? (left + 1) / 2 : 1;
        left -= taken;
        for (unsigned i = 0; i < taken; i++) {
            if (order[n++] != left + i) {
                return false;
            }
        }
    }
    return true;
}

/* The first of all is left until the end: what was handed over lies there. */
static bool taken_from_head(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        if (order[i] != (i + 1) % THREADS) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    unsigned helpers = pirn_cpu_count() - 1;
    CHECK(helpers <= HELPERS);
    if (helpers == 0) {
        say("one CPU\n");
        return 0;
    }
    steal_all(helpers, false);
    bool half = taken_from_tail(true);
    CHECK(half || taken_from_tail(false));
    steal_all(helpers, true);
    bool far = taken_from_head();
    CHECK(far || taken_from_tail(half));
    say(half ? "amount=half " : "amount=one ");
    say(far ? "end=far\n" : "end=tail\n");
    return 0;
}
