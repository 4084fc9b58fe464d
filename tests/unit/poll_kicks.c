/* SPDX-License-Identifier: MIT */
/*
 * poll_kicks.c - a thread that tells a poller and waits, while nothing else is outstanding, wakes
 * no other CPU, and neither does the poller that finds what it waits for: each would wake up for
 * nothing, since the CPU that wakes it runs the thread at once. Run with two workers and without
 * preemption.
 */
#include <inttypes.h>
#include <pirn/poll.h>
#include <stdio.h>

enum { ROUNDS = 200, US = 1000 };

static pirn_poller_t poller;
static pirn_sem_t found;
static uint32_t wanted, done; /* 32 bits, so that no processor needs a library for them */

static enum pirn_poll look(void *arg)
{
    (void)arg;
    if (!__atomic_exchange_n(&wanted, 0u, __ATOMIC_RELAXED)) {
        return PIRN_POLL_NONE;
    }
    if (__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        return pirn_poller_done(&poller, &found);
    }
    pirn_sem_post(&found);
    return PIRN_POLL_FOUND;
}

/* The other CPU falls asleep meanwhile. */
static void compute(void)
{
    for (uint64_t until = pirn_now() + (uint64_t)200 * US; pirn_now() < until;) {
    }
}

static uint64_t kicks(void)
{
    struct pirn_counters counters;
    pirn_stats(&counters);
    return counters.kicks;
}

/* How many kicks in all rounds. */
static uint64_t rounds(bool waits)
{
    uint64_t before = kicks();
    for (int i = 0; i < ROUNDS; i++) {
        compute();
        __atomic_store_n(&wanted, 1u, __ATOMIC_RELAXED);
        if (waits) {
            pirn_poller_wait(&poller, &found, NULL);
        } else {
            pirn_poller_tell(&poller);
            pirn_sem_wait(&found);
        }
    }
    return kicks() - before;
}

int main(void)
{
    if (pirn_cpu_count() < 2 || pirn_poller_add(&poller, NULL, look, NULL) != 0) {
        printf("poll_kicks: needs two workers\n");
        return 1;
    }
    uint64_t many = rounds(false);
    __atomic_store_n(&done, 1u, __ATOMIC_RELAXED);
    uint64_t few = rounds(true);
    pirn_poller_remove(&poller);
    printf("poll_kicks: %" PRIu64 " kicks, %" PRIu64 " when they can be saved\n", many, few);
    return few > ROUNDS / 10;
}
