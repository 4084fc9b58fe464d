/* SPDX-License-Identifier: MIT */
/*
 * port_affinity.h - CPU sets of threads (pthread_setaffinity_np).
 *
 * PORT_CPU_SETS (port_env.h): true where threads have CPU sets. port_env.h then has, inline,
 * port_thread_cpus(t, set): the new thread t gets this set, which port_cpus_find has returned.
 */
#ifndef PIRN_PORT_AFFINITY_H
#define PIRN_PORT_AFFINITY_H

#include "port.h"

#include <errno.h>

#if PORT_CPU_SETS
struct port_cpus;
struct port_thread;

/* Find the set of `size` bytes, without the CPUs that the process may not use: 0, -EINVAL (no CPU
 * is left), -ENOMEM (more than 1,024 different sets). */
int port_cpus_find(const void *set, size_t size, const struct port_cpus **out);

/* Each of the first n workers runs on a processor of its own from now on, unless its thread has a
 * set. Called after port_init, before any worker begins. -EINVAL: the process may use fewer than n
 * processors. */
int port_workers_bind(unsigned n);

/* Set it: for a thread that has not run; for any user thread, which uses the set when the call
 * returns; for a foreign thread. */
void port_cpus_begin(struct port_thread *t, const struct port_cpus *cpus);
void port_cpus_set(struct thread *t, const struct port_cpus *cpus);
int port_cpus_set_foreign(const struct port_thread *t, const void *set, size_t size);

/* Into a cpu_set_t. 0 or -errno. */
int port_cpus_get(const struct port_thread *t, void *set);
#else
#define port_thread_cpus(t, set) ((void)(t), (void)(set))

struct port_cpus;

ALWAYS_INLINE int port_workers_bind(unsigned n)
{
    (void)n;
    return -ENOTSUP;
}

ALWAYS_INLINE int port_cpus_find(const void *set, size_t size, const struct port_cpus **out)
{
    (void)set;
    (void)size;
    (void)out;
    return -ENOTSUP;
}
#endif

#endif
