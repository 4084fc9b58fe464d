/* SPDX-License-Identifier: MIT */
/*
 * affinity.h - task affinity: threads that read data run where the data has just been written.
 *
 * A decorator: option `affinity` of a policy replaces operations of its table by those of
 * affinity.c, which call the policy's own (sched_settle). Without the option nothing is replaced,
 * so nothing costs anything. core/producers.h has the dependencies.
 *
 * Rules, after the thesis of docs/STATUS.md, section A:
 *
 *   declared  A consumer that wakes is placed on a CPU whose current thread (on an idle CPU: last
 *             thread) is one of its producers; on the waking CPU if that is one of them. There it
 *             is the next thread. If a thread of higher priority precedes it, when it wakes or when
 *             it is about to run, or the CPU runs another thread by then, it is pushed to another
 *             producer's CPU. (One of the same priority does not precede it: affinity_place.c.) If
 *             none is left, and there are NUMA nodes, a CPU without work on the node of a producer
 *             gets a consumer that wakes; else the policy places it (the standard rule).
 *   auto      The same, and who wakes a thread often is taken for its producer
 *             (affinity_learn.c).
 *   old       The thesis' rule before it was improved: a CPU that ran one of the producers last,
 *             whatever it runs now, the one with the fewest threads. The consumer has its turn
 *             there, and no other CPU takes it.
 */
#ifndef PIRN_SCHED_AFFINITY_H
#define PIRN_SCHED_AFFINITY_H

#include "config.h"
#include "policy.h"

/* What a policy does for it. */
struct sched_affinity {
    /* t, ready and in no queue, is going to run on `self` ahead of the policy's ready threads:
     * account for that. False: a more urgent thread is ready, and nothing was done. NULL: always
     * true, and nothing to account for. */
    bool (*run)(struct cpu *self, struct thread *t);

    /* Ready threads that CPU `id` has in a queue of its own, and the urgency of the most urgent one
     * among all that it may pick: hints, from any CPU. */
    uint32_t (*length)(unsigned id);
    uint32_t (*urgency)(unsigned id);
};

#if RT_AFFINITY
int sched_set_affinity(const char *value, const char **why);
int sched_set_affinity_idle(const char *value, const char **why);

/* In the list of a policy's options, at the end. */
#define AFFINITY_OPTIONS                                                                           \
    {.name = "affinity",                                                                           \
     .values = "default|off|declared|auto|old",                                                    \
     .deflt = "default",                                                                           \
     .help = "declared: a thread that wakes runs where one of its producers has just run; auto: "  \
             "also one that was learned from wake-ups; old: where one ran last; default: "         \
             "declared, if the option affinity of the runtime names threads, else off",            \
     .set = sched_set_affinity},                                                                   \
        {.name = "affinity-idle",                                                                  \
         .values = "<microseconds>",                                                               \
         .deflt = "50",                                                                            \
         .help = "a CPU takes a thread that waits for its producer's CPU after it was without "    \
                 "work for so long",                                                               \
         .set = sched_set_affinity_idle},

/* The chosen policy: `way` is NULL if it has no such options. */
void affinity_use(const struct sched_affinity *way);

/* All options are known: decorate the table, if they say so (true). */
bool affinity_decorate(struct pirn_policy *policy);

/* In a table: what a policy does. */
#define SCHED_AFFINITY(...) (&(const struct sched_affinity){__VA_ARGS__})
#else
#define AFFINITY_OPTIONS
#define SCHED_AFFINITY(...) (false ? &(const struct sched_affinity){__VA_ARGS__} : NULL)

ALWAYS_INLINE void affinity_use(const struct sched_affinity *way)
{
    (void)way;
}
ALWAYS_INLINE bool affinity_decorate(struct pirn_policy *policy)
{
    (void)policy;
    return false;
}
#endif

#endif
