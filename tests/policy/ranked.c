/* SPDX-License-Identifier: MIT */
/*
 * ranked.c - policy "ranked", of the tests: one queue for all CPUs, by priority, with links of its
 * own in the threads' rooms. A yield goes behind all others, whatever its priority.
 *
 * Invariants (lock):
 *   1. A room's `queued` is true exactly while it is linked.
 *   2. The queue is sorted by rank, highest first, equal ranks by age.
 *   3. length does not dip in requeue: a CPU that looked meanwhile would sleep, and no CPU would
 *      wake it.
 *   4. rank is the thread's priority, or 0 after a yield. A priority that changes is read either by
 *      enqueue or by requeue, whichever locks later: both read it under the lock.
 */
#include "list.h"

struct ranked {
    struct ranked *next, *prev;
    uint32_t rank;
    uint8_t queued, yielded;
};

static pirn_policy_lock_t lock;
static struct ranked queue; /* (lock) head */
static pirn_policy_word_t length;

static struct ranked *ranked_of(pirn_thread_t t)
{
    return pirn_policy_room(t);
}

static int ranked_init(unsigned ncpu)
{
    (void)ncpu;
    pirn_policy_lock_init(&lock);
    pirn_policy_word_init(&length, 0);
    queue.next = queue.prev = &queue;
    return 0;
}

static int ranked_thread_init(pirn_thread_t t, pirn_thread_t creator)
{
    (void)creator;
    *ranked_of(t) = (struct ranked){.queued = 0};
    return 0;
}

/* Behind the threads of its rank, or before them if it should run next. */
static void link_locked(struct ranked *r, bool first)
{
    struct ranked *after = queue.prev;
    while (after != &queue && (after->rank < r->rank || (first && after->rank == r->rank))) {
        after = after->prev;
    }
    r->prev = after;
    r->next = after->next;
    r->next->prev = after->next = r;
    r->queued = 1;
}

static void unlink_locked(struct ranked *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->queued = 0;
}

static void count_locked(uintptr_t n)
{
    pirn_policy_store(&length, pirn_policy_peek(&length) + n);
}

static struct pirn_kick ranked_enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    struct ranked *r = ranked_of(t);
    (void)self;
    pirn_policy_lock(&lock);
    PIRN_POLICY_VERIFY(!r->queued);
    r->yielded = why == PIRN_WHY_YIELD;
    r->rank = r->yielded ? 0 : pirn_policy_thread_priority(t);
    link_locked(r, why == PIRN_WHY_HANDOFF);
    count_locked(1);
    pirn_policy_unlock(&lock);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static void ranked_requeue(pirn_thread_t t)
{
    struct ranked *r = ranked_of(t);
    pirn_policy_lock(&lock);
    if (r->queued) {
        unlink_locked(r);
        r->yielded = 0;
        r->rank = pirn_policy_thread_priority(t);
        link_locked(r, false);
    }
    pirn_policy_unlock(&lock);
}

static pirn_thread_t ranked_pick(pirn_cpu_t self)
{
    pirn_thread_t t = NULL;
    (void)self;
    if (pirn_policy_peek(&length) == 0) {
        return NULL;
    }
    pirn_policy_lock(&lock);
    if (queue.next != &queue) {
        t = pirn_policy_thread(queue.next);
        unlink_locked(queue.next);
        count_locked((uintptr_t)-1);
    }
    pirn_policy_unlock(&lock);
    return t;
}

static bool ranked_remove(pirn_cpu_t self, pirn_thread_t t)
{
    struct ranked *r = ranked_of(t);
    (void)self;
    pirn_policy_lock(&lock);
    bool there = r->queued;
    if (there) {
        unlink_locked(r);
        count_locked((uintptr_t)-1);
    }
    pirn_policy_unlock(&lock);
    return there;
}

static bool ranked_has_work(pirn_cpu_t self)
{
    (void)self;
    return pirn_policy_peek(&length) != 0;
}

static void ranked_check(void)
{
    uint32_t above = UINT32_MAX;
    for (struct ranked *r = queue.next; r != &queue; r = r->next) {
        pirn_thread_t t = pirn_policy_thread(r);
        PIRN_POLICY_VERIFY(r->queued && pirn_policy_thread_ready(t));
        PIRN_POLICY_VERIFY(r->rank == (r->yielded ? 0 : pirn_policy_thread_priority(t)));
        PIRN_POLICY_VERIFY(r->rank <= above);
        above = r->rank;
    }
}

const struct pirn_policy policy_ranked = {
    .version = PIRN_POLICY_VERSION,
    .name = "ranked",
    .help = "one ready queue for all CPUs, by priority",
    .init = ranked_init,
    .enqueue = ranked_enqueue,
    .pick = ranked_pick,
    .remove = ranked_remove,
    .requeue = ranked_requeue,
    .has_work = ranked_has_work,
    .thread_init = ranked_thread_init,
    .check = ranked_check,
};
