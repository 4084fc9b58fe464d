/* SPDX-License-Identifier: MIT */
/*
 * port_foreign.h - kernel threads that Pirn did not create.
 *
 * PORT_FOREIGN (port_env.h): true where such threads exist. They have a stand-in, a struct thread,
 * and block in the kernel. Where it is false, a caller without a CPU is an interrupt handler that
 * ran before the runtime started, and the program ends with a message.
 *
 * PORT_IDENTITY (port_env.h): true where kernel threads have a descriptor before the runtime
 * starts. port_foreign_self works then, too, and is rt_main_identity() for the program's main
 * thread.
 */
#ifndef PIRN_PORT_FOREIGN_H
#define PIRN_PORT_FOREIGN_H

#include "port.h"

#include <errno.h>

#if PORT_FOREIGN
/* The stand-in of the calling foreign thread (port_cpu_self() is NULL); on a carrier without a CPU
 * the thread that it runs. */
struct thread *port_foreign_self(void);

/* The stand-in that the calling foreign thread has by now; NULL: none. */
struct thread *port_foreign_known(void);

/* A foreign thread that must block: wait until port_foreign_unpark, or until `deadline` (ns of
 * port_now). Permit semantics as for CPUs. */
void port_foreign_park(struct thread *t, uint64_t deadline);
void port_foreign_unpark(struct thread *t);

/* Start a foreign thread that calls fn(arg) and then ends. 0 or -errno. */
int port_foreign_start(void (*fn)(void *), void *arg);

/* Do all kernel threads of the process belong to the runtime; without a runtime, is there only one?
 * False if the port cannot tell. */
bool port_alone(void);
#else
ALWAYS_INLINE struct thread *port_foreign_self(void)
{
    rt_no_such_call();
}

ALWAYS_INLINE struct thread *port_foreign_known(void)
{
    return NULL;
}

ALWAYS_INLINE void port_foreign_park(struct thread *t, uint64_t deadline)
{
    (void)t;
    (void)deadline;
    rt_no_such_call();
}

ALWAYS_INLINE void port_foreign_unpark(struct thread *t)
{
    (void)t;
    rt_no_such_call();
}

ALWAYS_INLINE int port_foreign_start(void (*fn)(void *), void *arg)
{
    (void)fn;
    (void)arg;
    return -ENOSYS;
}

ALWAYS_INLINE bool port_alone(void)
{
    return false;
}
#endif

#if PORT_IDENTITY
/* Is the caller a kernel thread of the runtime? The start may wait for it. */
bool port_is_helper(void);
#else
ALWAYS_INLINE bool port_is_helper(void)
{
    return false;
}
#endif

/* Upcalls. */
struct thread *rt_foreign_new(void); /* a stand-in; NULL without memory */
void rt_foreign_free(struct thread *t);
void rt_foreign_becomes(struct thread *t, struct thread *idle);
bool rt_main_is_carrier(void);         /* the program's main kernel thread executes CPUs */
struct thread *rt_main_identity(void); /* of the program's main kernel thread without a CPU */
bool rt_thread_is_foreign(const struct thread *t);

#endif
