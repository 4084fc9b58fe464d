/* SPDX-License-Identifier: MIT */
/*
 * bind.h - threads that run on one CPU only: under the policies that have homes of threads
 * (central, dist) and without task affinity. Callers: src/native, src/posix.
 */
#ifndef PIRN_CORE_BIND_H
#define PIRN_CORE_BIND_H

#include "thread.h"

/* Could a thread be bound to CPU `id`? 0; -EINVAL: no such CPU; -ENOTSUP: the policy cannot. */
int rt_bind_possible(unsigned id);

/* The caller runs on CPU `id` when this returns, and only there, until it calls again; -1: it is
 * not bound any more. 0; -EINVAL: no such CPU; -ENOTSUP: the policy cannot bind, or the caller is a
 * foreign kernel thread. */
int rt_bind(int id);

/* The CPU that t is bound to; -1: none. */
int rt_bound(struct thread *t);

#endif
