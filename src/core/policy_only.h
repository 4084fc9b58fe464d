/* SPDX-License-Identifier: MIT */
/*
 * policy_only.h - the table of `single` as a constant, where there is no other policy
 * (RT_ONLY_SINGLE): the compiler calls its operations directly, and leaves out what depends on
 * operations that it does not have. Those of classes are there in all disciplines; POLICY_HAS says
 * whether they may be called. For runtime.h; src/sched/single.c defines the functions.
 */
#ifndef PIRN_CORE_POLICY_ONLY_H
#define PIRN_CORE_POLICY_ONLY_H

#include <pirn/policy.h>

struct thread;
struct cpu;

int single_init(unsigned ncpu);
struct pirn_kick single_enqueue(struct cpu *self, struct thread *t, enum pirn_why why);
struct thread *single_pick(struct cpu *self);
bool single_remove(struct cpu *self, struct thread *t);
bool single_has_work(struct cpu *self);
struct thread *single_preempt(struct cpu *self, struct thread *running, enum pirn_why why);
void single_requeue(struct thread *t);
int classes_thread_init(struct thread *t, struct thread *creator);
bool classes_charge(struct cpu *self, struct thread *running, unsigned ticks);

static const struct pirn_policy rt_policy_only = {
    .name = "single",
    .init = single_init,
    .enqueue = single_enqueue,
    .pick = single_pick,
    .remove = single_remove,
    .has_work = single_has_work,
#ifndef PIRN_WITHOUT_CLASSES
    .thread_init = classes_thread_init,
    .preempt = single_preempt,
    .requeue = single_requeue,
    .charge = classes_charge,
#endif
};

#endif
