/* SPDX-License-Identifier: MIT */
/*
 * pinned.c - policy "pinned": the program says on which CPU each thread runs, or that any CPU may
 * run it. A queue for each CPU, and one for the threads that are not pinned. A CPU takes from both
 * in turn, so neither starves.
 */
#include <pirn/policy.h>

#include "graph.h"

/* In a thread's room, behind the links of its queue. */
struct place {
    int cpu;
};

struct ready {
    pirn_policy_lock_t lock;
    pirn_runq_t queue; /* (lock) */
};

static struct ready own[PIRN_POLICY_CPUS], shared;
static bool own_was_last[PIRN_POLICY_CPUS]; /* (O) */
static int next_cpu = NOT_PINNED;

void pinned_next(int cpu)
{
    next_cpu = cpu;
}

static struct place *place_of(pirn_thread_t t)
{
    return (struct place *)((char *)pirn_policy_room(t) + PIRN_POLICY_LINK);
}

static void ready_init(struct ready *r)
{
    pirn_policy_lock_init(&r->lock);
    pirn_runq_init(&r->queue, false);
}

static int pinned_init(unsigned ncpu)
{
    ready_init(&shared);
    for (unsigned i = 0; i < ncpu; i++) {
        ready_init(&own[i]);
    }
    return 0;
}

static int pinned_thread_init(pirn_thread_t t, pirn_thread_t creator)
{
    (void)creator;
    place_of(t)->cpu = next_cpu;
    return 0;
}

static struct pirn_kick pinned_enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    int cpu = place_of(t)->cpu;
    struct ready *r = cpu == NOT_PINNED ? &shared : &own[cpu];
    pirn_policy_lock(&r->lock);
    pirn_runq_push(&r->queue, t, why);
    pirn_policy_unlock(&r->lock);
    bool here = self != NULL && cpu == (int)pirn_policy_cpu_id(self);
    return (struct pirn_kick){.cpu = cpu == NOT_PINNED ? PIRN_KICK_ANY
                                     : here            ? PIRN_KICK_NONE
                                                       : cpu};
}

static pirn_thread_t take(struct ready *r)
{
    if (pirn_runq_length(&r->queue) == 0) {
        return NULL;
    }
    pirn_policy_lock(&r->lock);
    pirn_thread_t t = pirn_runq_pop(&r->queue);
    pirn_policy_unlock(&r->lock);
    return t;
}

static pirn_thread_t pinned_pick(pirn_cpu_t self)
{
    unsigned id = pirn_policy_cpu_id(self);
    struct ready *first = own_was_last[id] ? &shared : &own[id];
    pirn_thread_t t = take(first);
    if (t == NULL) {
        first = first == &shared ? &own[id] : &shared;
        t = take(first);
    }
    own_was_last[id] = t != NULL && first != &shared;
    return t;
}

static bool pinned_has_work(pirn_cpu_t self)
{
    return pirn_runq_length(&own[pirn_policy_cpu_id(self)].queue) != 0 ||
           pirn_runq_length(&shared.queue) != 0;
}

void pinned_register(void)
{
    static const struct pirn_policy policy = {.version = PIRN_POLICY_VERSION,
                                              .name = "pinned",
                                              .help = "the program pins threads to CPUs",
                                              .init = pinned_init,
                                              .enqueue = pinned_enqueue,
                                              .pick = pinned_pick,
                                              .has_work = pinned_has_work,
                                              .thread_init = pinned_thread_init};
    pirn_sched_register(&policy);
}
