/* SPDX-License-Identifier: MIT */
/*
 * affinity_queue.h - shared by affinity.c, which has the invariants, and affinity_place.c.
 */
#ifndef PIRN_SCHED_AFFINITY_QUEUE_H
#define PIRN_SCHED_AFFINITY_QUEUE_H

#include "../core/producers.h"
#include "affinity.h"
#include "classes.h"
#include "cpu.h"
#include "runtime.h"

/* As the words of the option. */
enum affinity_rule {
    AFFINITY_DEFAULT,
    AFFINITY_OFF,
    AFFINITY_DECLARED,
    AFFINITY_AUTO, /* declared or learned */
    AFFINITY_OLD
};
#define AFFINITY_RULES "default|off|declared|auto|old"

/* How often, on this CPU; times in ns. */
struct affinity_counts {
    uint64_t here, there; /* a consumer was placed on the waking CPU; on another one */
    uint64_t standard;    /* no CPU was a producer's: placed by the policy */
    uint64_t pushes;      /* preceded by another thread, so placed elsewhere */
    uint64_t push_ns;     /* in wake-ups that pushed */
    uint64_t pulls;       /* another CPU's consumer was taken: its producer had just run here */
    uint64_t late;        /* the same because this CPU was without work for long */
    uint64_t pull_ns;     /* in both */

    /* affinity=auto: wake-ups by a learned producer, by a declared one, by one that is both */
    uint64_t learned, declared, agreed;
};

struct affinity_cpu {
    spinlock_t lock ALIGNED(RT_CACHELINE);
    struct list consumers;    /* (lock) the next one first: by urgency */
    _Atomic(uint32_t) length; /* (lock) written; read by all */
    uint32_t id;              /* (C) */

    /* (O) written, read by all: the current thread, or if there is none, the last one */
    _Atomic(struct id_slot *) last ALIGNED(RT_CACHELINE);
    _Atomic(uint32_t) last_life;
    _Atomic(uint32_t) idle; /* 1: there is none */

    /* (O) */
    uint64_t idle_since;
    uint32_t ahead;  /* picks at which consumers waited */
    uint32_t ticks;  /* the CPU's at the last of them */
    uint32_t said;   /* urgency of what it runs, at the last look at its consumers */
    bool went_first; /* consumers, at the last of them */
    struct affinity_counts counts;
};

HIDDEN extern struct affinity {
    enum affinity_rule rule;          /* (C) option */
    uint64_t idle_ns;                 /* (C) option */
    bool shares;                      /* (C) other CPUs may take a consumer */
    const struct sched_affinity *way; /* (C) of the policy */
    struct pirn_policy base;          /* (C) its table, before it was decorated */
    struct affinity_cpu cpus[RT_MAX_CPUS];
} affinity;

/* Count. Also in builds without the core's counters. */
ALWAYS_INLINE void affinity_add(uint64_t *counter, uint64_t n)
{
    STAT_SET(counter, *counter + n);
}

ALWAYS_INLINE struct affinity_cpu *affinity_of(const struct cpu *self)
{
    return &affinity.cpus[self->id];
}

ALWAYS_INLINE uint32_t affinity_urgency(const struct thread *t)
{
    return sched_has_classes() ? classq_urgency(classes_queue(0), t) : (uint32_t)URGENCY_OTHER;
}

/* ---- affinity.c ---- */

/* Link c, whose `queued` is set, in front of `before`. */
void affinity_link_locked(struct affinity_cpu *q, struct consumer *c, struct list *before);

/* Unlink it again. */
struct thread *affinity_unlink_locked(struct affinity_cpu *q, struct consumer *c);

/* ---- affinity_place.c ---- */

/* t wakes: if it is a consumer, and a CPU is a producer's, put it into that CPU's queue (true); its
 * kick. It may run at once. */
bool affinity_place(struct cpu *self, struct thread *t, struct pirn_kick *kick);

/* t was to run next on the caller's CPU, and a more urgent thread precedes it there: the same with
 * the CPUs of other producers. */
bool affinity_push(struct cpu *self, struct thread *t, struct pirn_kick *kick);

/* The producers that a consumer has at this moment, declared and, where the rule is auto, learned.
 */
struct named {
    struct id_slot *slot;
    uint32_t life;
};
struct producer_list {
    unsigned n;
    struct named of[RT_PRODUCERS_MAX + RT_PRODUCERS_SEEN];
};

/* Those of that life; c is the record of its slot. */
void affinity_producers(const struct consumer *c, uint32_t life, struct producer_list *to);

/* Is the current or last thread of that CPU one of them? */
bool affinity_ran_last(const struct producer_list *producers, const struct affinity_cpu *q);

/* ---- affinity_learn.c ---- */

/* t wakes, and the caller owns it: note who has woken it. */
void affinity_learn(struct cpu *self, struct thread *t);

/* c's thread was taken from that CPU because its producer there went on. */
void affinity_unlearn(struct consumer *c, const struct affinity_cpu *from);

bool affinity_counts_as_producer(const struct producer_seen *seen);

#endif
