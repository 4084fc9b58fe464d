/* SPDX-License-Identifier: MIT */
/*
 * relay.c - policy "relay", of the tests: a ready queue for each CPU. A CPU that runs out of work
 * takes half of another's queue, from the tail, and hands the search on.
 *
 * Invariants:
 *   1. A thread's room names its queue, or NOWHERE; both change under that queue's lock. Without
 *      the lock it is a hint.
 *   2. rotate leaves the queue locked: the thread at its tail is not saved yet.
 *   3. A kick announces threads that enter a queue without an enqueue (a batch).
 */
#include "list.h"

#define NOWHERE UINTPTR_MAX

struct relayed {
    unsigned char link[PIRN_POLICY_LINK];
    pirn_policy_word_t in; /* invariant 1 */
};

static struct {
    pirn_policy_lock_t lock __attribute__((aligned(64)));
    pirn_runq_t ready;              /* (lock) */
    pirn_policy_word_t idle, taken; /* the owner's; read by others */
} cpus[PIRN_POLICY_CPUS];

static unsigned ncpu;
static int unfinished; /* runs that init began and fini has not ended */

static struct relayed *relayed_of(pirn_thread_t t)
{
    return pirn_policy_room(t);
}

static int relay_init(unsigned n)
{
    ncpu = n;
    PIRN_POLICY_VERIFY(unfinished++ == 0);
    for (unsigned i = 0; i < n; i++) {
        pirn_policy_lock_init(&cpus[i].lock);
        pirn_runq_init(&cpus[i].ready, false);
        pirn_policy_word_init(&cpus[i].idle, 0);
        pirn_policy_word_init(&cpus[i].taken, 0);
    }
    return 0;
}

static void relay_fini(void)
{
    unfinished--;
}

static int relay_thread_init(pirn_thread_t t, pirn_thread_t creator)
{
    (void)creator;
    pirn_policy_word_init(&relayed_of(t)->in, NOWHERE);
    return 0;
}

static struct pirn_kick relay_enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    int last = pirn_policy_thread_cpu(t);
    unsigned k = self != NULL ? pirn_policy_cpu_id(self) : last >= 0 ? (unsigned)last : 0;
    pirn_policy_lock(&cpus[k].lock);
    pirn_policy_store(&relayed_of(t)->in, k);
    if (why == PIRN_WHY_HANDOFF) {
        pirn_runq_push_head(&cpus[k].ready, t);
    } else {
        pirn_runq_push_tail(&cpus[k].ready, t);
    }
    pirn_policy_unlock(&cpus[k].lock);
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static pirn_thread_t relay_pick(pirn_cpu_t self)
{
    unsigned k = pirn_policy_cpu_id(self);
    if (pirn_runq_length(&cpus[k].ready) == 0) {
        return NULL;
    }
    pirn_policy_lock(&cpus[k].lock);
    pirn_thread_t t = pirn_runq_pop(&cpus[k].ready);
    if (t != NULL) {
        pirn_policy_store(&relayed_of(t)->in, NOWHERE);
    }
    pirn_policy_unlock(&cpus[k].lock);
    return t;
}

static struct pirn_rotation relay_rotate(pirn_cpu_t self, pirn_thread_t t)
{
    unsigned k = pirn_policy_cpu_id(self);
    pirn_policy_lock(&cpus[k].lock);
    pirn_thread_t next = pirn_runq_rotate(&cpus[k].ready, t);
    if (next == NULL) {
        pirn_policy_unlock(&cpus[k].lock);
        return (struct pirn_rotation){0};
    }
    pirn_policy_store(&relayed_of(next)->in, NOWHERE);
    pirn_policy_store(&relayed_of(t)->in, k);
    return (struct pirn_rotation){next, &cpus[k].lock};
}

/* Moves half of v's queue to ours, one lock at a time; returns the last thread. */
static pirn_thread_t take_half(unsigned self, unsigned v)
{
    pirn_thread_t batch[8];
    unsigned n = 0;
    if (!pirn_policy_trylock(&cpus[v].lock)) {
        return NULL;
    }
    unsigned want = (pirn_runq_length(&cpus[v].ready) + 1) / 2;
    while (n < want && n < 8) {
        batch[n] = pirn_runq_pop_tail(&cpus[v].ready);
        pirn_policy_store(&relayed_of(batch[n++])->in, NOWHERE);
    }
    pirn_policy_unlock(&cpus[v].lock);
    if (n == 0) {
        return NULL;
    }
    pirn_policy_add(&cpus[self].taken, n);
    pirn_policy_lock(&cpus[self].lock);
    for (unsigned i = n - 1; i > 0; i--) {
        pirn_policy_store(&relayed_of(batch[i])->in, self);
        pirn_runq_push_tail(&cpus[self].ready, batch[i]);
    }
    pirn_policy_unlock(&cpus[self].lock);
    return batch[0];
}

static pirn_thread_t relay_search(pirn_cpu_t self)
{
    unsigned k = pirn_policy_cpu_id(self);
    PIRN_POLICY_VERIFY(pirn_policy_peek(&cpus[k].idle) == 1);
    for (unsigned i = 1; i < ncpu; i++) {
        pirn_thread_t t = take_half(k, (k + i) % ncpu);
        if (t != NULL) {
            if (pirn_runq_length(&cpus[k].ready) != 0) {
                pirn_policy_kick_any(self);
            }
            return t;
        }
    }
    return NULL;
}

static bool relay_has_work(pirn_cpu_t self)
{
    (void)self;
    for (unsigned i = 0; i < ncpu; i++) {
        if (pirn_runq_length(&cpus[i].ready) != 0) {
            return true;
        }
    }
    return false;
}

static bool relay_remove(pirn_cpu_t self, pirn_thread_t t)
{
    (void)self;
    uintptr_t k = pirn_policy_load(&relayed_of(t)->in);
    if (k == NOWHERE) {
        return false;
    }
    pirn_policy_lock(&cpus[k].lock);
    bool there = pirn_policy_peek(&relayed_of(t)->in) == k;
    if (there) {
        pirn_runq_remove(&cpus[k].ready, t);
        pirn_policy_store(&relayed_of(t)->in, NOWHERE);
    }
    pirn_policy_unlock(&cpus[k].lock);
    return there;
}

static void relay_idle_enter(pirn_cpu_t self)
{
    pirn_policy_store(&cpus[pirn_policy_cpu_id(self)].idle, 1);
}

/* Wakes CPUs that sleep while a queue has grown: one by a kick, one by a post. */
static void relay_idle_exit(pirn_cpu_t self)
{
    unsigned k = pirn_policy_cpu_id(self), other = (k + 1) % ncpu;
    pirn_policy_store(&cpus[k].idle, 0);
    if (pirn_runq_length(&cpus[k].ready) > 2 && pirn_policy_cpu_sleeps(other)) {
        pirn_policy_kick(self, other);
        pirn_policy_post(pirn_policy_cpu((k + 2) % ncpu));
    }
}

/* Posted by relay_idle_exit. */
static void relay_poll(pirn_cpu_t self)
{
    PIRN_POLICY_VERIFY(pirn_policy_cpu_id(self) < ncpu);
}

static void relay_check(void)
{
    for (unsigned i = 0; i < ncpu; i++) {
        for (pirn_thread_t t = pirn_runq_first(&cpus[i].ready); t != NULL;
             t = pirn_runq_next(&cpus[i].ready, t)) {
            PIRN_POLICY_VERIFY(pirn_policy_thread_ready(t));
            PIRN_POLICY_VERIFY(pirn_policy_peek(&relayed_of(t)->in) == i);
        }
    }
}

static void relay_stat(pirn_cpu_t self, void (*emit)(void *to, const char *name, uint64_t value),
                       void *to)
{
    emit(to, "taken", pirn_policy_peek(&cpus[pirn_policy_cpu_id(self)].taken));
}

static void relay_at_exit(void)
{
    PIRN_POLICY_VERIFY(unfinished == 1);
}

const struct pirn_policy policy_relay = {
    .version = PIRN_POLICY_VERSION,
    .name = "relay",
    .init = relay_init,
    .fini = relay_fini,
    .enqueue = relay_enqueue,
    .pick = relay_pick,
    .rotate = relay_rotate,
    .search = relay_search,
    .remove = relay_remove,
    .has_work = relay_has_work,
    .poll = relay_poll,
    .idle_enter = relay_idle_enter,
    .idle_exit = relay_idle_exit,
    .thread_init = relay_thread_init,
    .at_exit = relay_at_exit,
    .stat = relay_stat,
    .check = relay_check,
};
