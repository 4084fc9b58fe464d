/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the policies, seen from inside. Their contract is <pirn/policy.h>, both for those of
 * this folder and for those of a program; docs/guide/policies.md develops an example.
 *
 * Policies of this folder use the core's headers instead of the functions in the second half of the
 * contract: the same operations, inlined. pirn_cpu_t is struct cpu *, pirn_thread_t is struct
 * thread *.
 */
#ifndef PIRN_SCHED_POLICY_H
#define PIRN_SCHED_POLICY_H

#include <pirn/policy.h>

#include "compiler.h"
#include "config.h"

/* How many a program may register. */
#define SCHED_REGISTERED_MAX 8

/* See pirn_sched_register, pirn_sched_refusal. */
int sched_register(const struct pirn_policy *policy);
const char *sched_refusal(void);

const struct pirn_policy *sched_find(const char *name, size_t length);

/* Policy `i`; NULL after the last. */
const struct pirn_policy *sched_at(unsigned i);

/*
 * A policy of the library: the public table, and members that only the library's have.
 *
 * policy   Name and help, the options, and the operations under the disciplines fifo and lifo.
 * yield    rt_yield, compiled with the policy's `rotate` inlined (core/yield.h). The table needs no
 *          `rotate` then: nothing would call it. NULL: yields go by `rotate`, or the long way.
 * classes  Operations that differ under the disciplines with classes, posix and shmac. NULL in a
 *          build without them, and in a policy that has no classes (hw). An operation that is NULL
 *          there is the one of `policy`.
 *
 * capacity What it does on CPUs of different capacities (core/capacity.h). NULL: nothing.
 * affinity What it does for task affinity (affinity.h). NULL: it has no such option.
 * binds    Can a thread be bound to a CPU that the program chooses (pinned_bind)?
 * classless True if the policy's options leave it without classes, whatever the discipline: then
 *          `classes` does not count. NULL: never.
 *
 * sched_use takes all of them from here; no other code selects an operation by discipline.
 */
struct sched_variant {
    struct pirn_kick (*enqueue)(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why);
    pirn_thread_t (*pick)(pirn_cpu_t self);
    pirn_thread_t (*search)(pirn_cpu_t self);
    bool (*remove)(pirn_cpu_t self, pirn_thread_t t);
    bool (*direct)(pirn_cpu_t self, pirn_thread_t t);
    int (*thread_init)(pirn_thread_t t, pirn_thread_t creator);
    pirn_thread_t (*preempt)(pirn_cpu_t self, pirn_thread_t running, enum pirn_why why);
    void (*requeue)(pirn_thread_t t);
    bool (*charge)(pirn_cpu_t self, pirn_thread_t running, unsigned ticks);
    bool (*yield)(void);
};

struct sched_affinity;
struct sched_capacity;

struct sched_built_in {
    struct pirn_policy policy;
    bool (*yield)(void);
    const struct sched_variant *classes;
    const struct sched_capacity *capacity;
    const struct sched_affinity *affinity;
    bool (*classless)(void);
    bool binds;
};

/* Can the policy that is used bind threads to CPUs? Not with task affinity, by which threads follow
 * others. Then: the CPU that t is bound to, -1: none; and bind it, as pinned_bind does. */
HIDDEN extern bool sched_may_bind; /* (C) for sched_binds */
ALWAYS_INLINE bool sched_binds(void)
{
    return RT_BINDS && sched_may_bind;
}

int sched_bound(struct thread *t);
void sched_bind(struct thread *t, int cpu);

/* The member `classes`. Without classes the compiler drops the functions that it names. */
#ifndef PIRN_WITHOUT_CLASSES
#define SCHED_CLASSES(...) (&(const struct sched_variant){__VA_ARGS__})
#else
#define SCHED_CLASSES(...) (false ? &(const struct sched_variant){__VA_ARGS__} : NULL)
#endif

/* Copy the table for use, with the operations of the chosen discipline, and make rt_yield take the
 * policy's own way. */
void sched_use(struct pirn_policy *to, const struct pirn_policy *policy);

/* All options are known. Fill in the operations that the core calls without a test for NULL. With
 * `detour` yields take the long way. */
void sched_settle(struct pirn_policy *policy, bool detour);

/* Both, where `single` is the only policy: core/policy_only.h. */
void sched_use_only(void);
#if RT_ONLY_SINGLE
#define SCHED_SETTLE(policy, detour) ((void)0)
#else
#define SCHED_SETTLE(policy, detour) sched_settle((policy), (detour))
#endif

/* Names of policies, of their options and counters: no format needs to quote them. */
bool sched_good_name(const char *name);

/* Index of `value` in "a|b|c"; -1 if it is none of them. */
int sched_choice(const char *values, const char *value);

/* Operations and options in a table: NULL where nobody calls or reads them. Operations for tests:
 * the simulator's; options: where they are read (settings). Else no setter is called: so the
 * variables of a policy's options mean the defaults while they are 0; those of the discipline are
 * set by sched_use_discipline. */
#if defined(PIRN_SIM) || defined(PIRN_DEBUG) || !defined(PIRN_BARE)
#define FOR_TESTS(function) function
#else
#define FOR_TESTS(function) (false ? (function) : NULL)
#endif
/* A policy's own yield, which is faster than any policy's: NULL in small code. */
#define FOR_SPEED(function) (RT_SPEED ? (function) : NULL)
#ifdef PIRN_WITHOUT_SETTINGS
#define SCHED_OPTIONS(...) NULL
#define SCHED_OPTIONS_OF(options) (false ? (options) : NULL)
#else
#define SCHED_OPTIONS(...) ((const struct pirn_policy_option[]){__VA_ARGS__, {0}})
#define SCHED_OPTIONS_OF(options) options
#endif

/* For builds without settings: the defaults, and classes if they are asked for. */
#ifdef PIRN_WITHOUT_CLASSES
ALWAYS_INLINE void sched_use_discipline(bool priorities)
{
    (void)priorities;
}
#else
void sched_use_discipline(bool priorities);
#endif

/* In the order of enum discipline, which begins with fifo. */
#ifdef PIRN_WITHOUT_WEIGHTS
#define SCHED_DISCIPLINES "auto|fifo|lifo|posix"
#else
#define SCHED_DISCIPLINES "auto|fifo|lifo|posix|shmac"
#endif

#endif
