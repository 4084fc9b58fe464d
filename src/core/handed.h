/* SPDX-License-Identifier: MIT */
/*
 * handed.h - every way of a thread to the policy and back: the calls of its operations that take or
 * give one.
 *
 * Callers: wake.h, yield.h, block.h, run.c, yield.c, wake.c; nobody else calls these operations.
 * sched/affinity.c calls the policy that it decorates, for a thread that it has already.
 *
 * A ready thread belongs to the policy from enqueue, or rotate, to the operation that returns it
 * (<pirn/policy.h>, "Ownership"). The simulator keeps a record of its own of the ready threads, to
 * see whether the policy loses threads, returns one twice, or lets a CPU sleep beside one. It
 * learns of them here (port/env/sim/sim_oracle.c). Everywhere else these functions are empty.
 *
 * Invariants:
 *   1. ready_give comes before the operation: inside it another CPU may take the thread. The ticket
 *      stands for this stay with the policy, when the thread itself may be gone.
 *   2. ready_take comes behind the operation, before anything is done with the thread.
 */
#ifndef PIRN_CORE_HANDED_H
#define PIRN_CORE_HANDED_H

#include "../sched/policy.h"
#include "cpu.h"
#include "runtime.h"

#ifdef PIRN_SIM
/* t goes to the policy. self: the caller's CPU, or NULL. */
uint64_t ready_give(struct cpu *self, struct thread *t);

/* Enqueue has answered, or rotate has taken it. */
void ready_given(struct cpu *self, uint64_t ticket, struct pirn_kick kick);

/* The policy, which has t, is going to put it where other CPUs may take it, by enqueue or the like,
 * and says with ready_given where that was. */
uint64_t ready_move(const struct thread *t);

/* Rotate did not take it. */
void ready_keep(uint64_t ticket);

/* The operation `by` has returned t (NULL: none). Returns t. */
struct thread *ready_take(struct cpu *cpu, struct thread *t, const char *by);

/* The CPU switches to t. */
void ready_run(struct cpu *cpu, struct thread *t);

/* t, which runs, has chosen another CPU. */
void ready_bound(const struct thread *t);
#else
ALWAYS_INLINE void ready_bound(const struct thread *t)
{
    (void)t;
}
ALWAYS_INLINE uint64_t ready_give(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return 0;
}
ALWAYS_INLINE void ready_given(struct cpu *self, uint64_t ticket, struct pirn_kick kick)
{
    (void)self;
    (void)ticket;
    (void)kick;
}
ALWAYS_INLINE uint64_t ready_move(const struct thread *t)
{
    (void)t;
    return 0;
}
ALWAYS_INLINE void ready_keep(uint64_t ticket)
{
    (void)ticket;
}
ALWAYS_INLINE struct thread *ready_take(struct cpu *cpu, struct thread *t, const char *by)
{
    (void)cpu;
    (void)by;
    return t;
}
ALWAYS_INLINE void ready_run(struct cpu *cpu, struct thread *t)
{
    (void)cpu;
    (void)t;
}
#endif

/* Enqueue is called by rt_ready: a function here, which returned the kick, would cost it six
 * instructions. */

ALWAYS_INLINE struct thread *policy_pick(struct cpu *cpu)
{
    return ready_take(cpu, RT_POLICY.pick(cpu), "pick");
}

ALWAYS_INLINE struct thread *policy_search(struct cpu *cpu)
{
    return RT_POLICY.search != NULL ? ready_take(cpu, RT_POLICY.search(cpu), "search") : NULL;
}

ALWAYS_INLINE struct thread *policy_preempt(struct cpu *cpu, enum pirn_why why)
{
    return ready_take(cpu, RT_POLICY.preempt(cpu, cpu->current, why), "preempt");
}

ALWAYS_INLINE bool policy_remove(struct cpu *cpu, struct thread *t)
{
    bool removed = RT_POLICY.remove(cpu, t);
    if (removed) {
        ready_take(cpu, t, "remove");
    }
    return removed;
}

typedef struct pirn_rotation policy_rotate_t(struct cpu *self, struct thread *t);

/* `rotate` is a constant, compiled in here, or the table's. */
ALWAYS_INLINE struct pirn_rotation policy_rotate(policy_rotate_t *rotate, struct cpu *cpu,
                                                 struct thread *t)
{
    uint64_t ticket = ready_give(cpu, t);
    struct pirn_rotation to = rotate(cpu, t);
    if (to.next == NULL) {
        ready_keep(ticket);
    } else {
        int bound = RT_POLICY.pinned ? PIRN_KICK_NONE : PIRN_KICK_ANY;
        ready_given(cpu, ticket, (struct pirn_kick){.cpu = bound});
    }
    ready_take(cpu, to.next, "rotate");
    return to;
}

#endif
