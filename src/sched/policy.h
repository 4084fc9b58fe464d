/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the contract of a scheduler organization.
 *
 * The core owns the loop, the thread states, stopping and waking. A policy says where a ready
 * thread goes and which one comes next. One const table per organization; docs/POLICY.md develops
 * an example.
 *
 * Context of every operation: interrupts are out (rt_enter). `self` is the caller's CPU, NULL on a
 * foreign kernel thread. A thread handed to enqueue is saved and READY; a thread returned by pick
 * or search belongs to the caller.
 */
#ifndef PIRN_SCHED_POLICY_H
#define PIRN_SCHED_POLICY_H

#include "compiler.h"

struct cpu;
struct thread;

enum sched_why {
    SCHED_SPAWN,
    SCHED_WAKE,
    SCHED_HANDOFF,
    SCHED_YIELD,
    SCHED_PREEMPT,
    SCHED_MIGRATE
};

/* Whom to wake after an enqueue: a CPU number, or one of these. */
enum { SCHED_KICK_NONE = -1, SCHED_KICK_ANY = -2 };

struct sched_kick {
    int cpu;      /* CPU number, SCHED_KICK_NONE, SCHED_KICK_ANY */
    bool preempt; /* the running thread of that CPU should make room */
};

/* An option of an organization: PIRN_SCHED=steal:victim=max. `values` is "a|b|c", or a description
 * of free text in angle brackets ("<file>"), which `set` checks itself. */
struct sched_option {
    const char *name;
    const char *values;
    const char *deflt;
    const char *help;
    /* Called before init, also with the default; value is one of `values`. 0, or -EINVAL with *why
     * set. */
    int (*set)(const char *value, const char **why);
};

struct sched_policy {
    const char *name;
    const char *help;                   /* one line */
    const struct sched_option *options; /* ends with name == NULL */

    int (*init)(unsigned ncpu); /* 0 or -errno */
    void (*fini)(void);
    void (*at_exit)(void); /* optional: the program ends; other CPUs may still run */

    struct sched_kick (*enqueue)(struct cpu *self, struct thread *t, enum sched_why why);

    /* Next thread from what is the CPU's own; NULL if none. */
    struct thread *(*pick)(struct cpu *self);

    /* Optional, a short cut for yields: put the running thread t to the tail and return the next
     * one; NULL: nothing done, the core goes the long way (pick, switch, enqueue). t's context is
     * not saved yet, so no other CPU may get at it before `rotated`, which the core calls after the
     * switch (NULL: no other CPU can). */
    struct thread *(*rotate)(struct cpu *self, struct thread *t);
    void (*rotated)(struct cpu *self);

    /* Optional: look elsewhere (steal, ask). Only the idle loop calls it, again and again. */
    struct thread *(*search)(struct cpu *self);

    /* Take a ready thread out of its queue: true if it was there and now belongs to the caller.
     * With self != NULL the policy may decline (false) what it cannot reach cheaply. */
    bool (*remove)(struct cpu *self, struct thread *t);

    /* Optional: priority or CPU set of a ready thread has changed. */
    void (*requeue)(struct thread *t);

    /* Is there anything that `self` may run? The last look before sleeping: a false negative is a
     * bug. */
    bool (*has_work)(struct cpu *self);

    /* Optional hints: the CPU begins and ends being without work. */
    void (*idle_enter)(struct cpu *self);
    void (*idle_exit)(struct cpu *self);

    /* Optional: the CPU was posted RT_PENDING_POLL; bounded. */
    void (*poll)(struct cpu *self);

    /* Optional: may `t`, blocked until now, run on `self` at once, without the queue (hand-over by
     * an exiting thread)? The core sees to it that nobody starves (rt_may_bypass). */
    bool (*direct)(struct cpu *self, struct thread *t);

    /* Optional: accounting at a tick; true = preempt the running thread. */
    bool (*charge)(struct cpu *self, struct thread *running, unsigned ticks);

    /* Optional: per-thread data of the policy. init may fail (-errno). */
    int (*thread_init)(struct thread *t, struct thread *creator);
    void (*thread_exit)(struct thread *t);

    /* Optional: counters, printing, invariants (RT_VERIFY). */
    void (*stat)(struct cpu *self, void (*emit)(const char *name, uint64_t value));
    void (*dump)(void);
    void (*check)(void);
};

/* Add an organization of the program's own before the runtime starts. 0, -EEXIST, -ENOSPC, -EBUSY
 * (started). */
int sched_register(const struct sched_policy *policy);
const struct sched_policy *sched_find(const char *name, size_t length);

/* Name of organization `i`; NULL after the last. */
const char *sched_name(unsigned i);

/* Index of `value` in "a|b|c"; -1 if it is none of them. */
int sched_choice(const char *values, const char *value);

#define SCHED_DISCIPLINES "fifo|lifo"

#endif
