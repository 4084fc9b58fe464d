/* SPDX-License-Identifier: MIT */
/*
 * posix_abi.h (bare) - boards: the types are those of include/pirn/bare, which are as large as the
 * objects in them. A pthread_t is the address of the thread's descriptor.
 */
#ifndef PIRN_POSIX_ABI_H
#define PIRN_POSIX_ABI_H

#include <limits.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../../sync/sync.h"

/* There is one process, so an object shared between processes is an ordinary one. */
#define POSIX_PROCESSES false
#define POSIX_SHARED_MARK 1u

/* Libraries with assertions add the holder's index to POSIX_SPIN_NAMED, where it is known. */
enum { POSIX_SPIN_FREE = 0, POSIX_SPIN_HELD = 1 };
#ifdef PIRN_DEBUG
#define POSIX_SPIN_NAMED 2u
#endif

/* The pool for thread->local grows by this many bytes at a time. */
#define POSIX_SLAB_BYTES (4u << 10)

/* Cleanup handlers: posix_exit_bare.c. */
typedef struct __pirn_cleanup posix_cleanup;

/* pthread_exit unwinds nothing. */
struct posix_unwind {
};

mqd_t pirn_posix_mq_open(const char *name, int flags, const struct mq_attr *attr);

ALWAYS_INLINE struct thread *posix_thread(pthread_t thread)
{
    return thread;
}

/* False: a call before the runtime runs starts it. */
ALWAYS_INLINE bool posix_is_foreign(void)
{
    return false;
}

/* The fields of pthread_attr_t. */
struct posix_attr {
    int priority;
    int policy;
    int flags;
    size_t guard;
    char *top; /* end of the stack; valid if POSIX_ATTR_STACK is set */
    size_t size;
    uint32_t cpus; /* a bit for each; 0: not set */
};

/* The CPU that such bits bind a thread to; -1: none. An error number, if the policy cannot do it:
 * posix_affinity_bare.c. */
int posix_cpus_translate(uint32_t cpus, int *cpu);

/* A program cannot set defaults. */
ALWAYS_INLINE int posix_attr_translate_more(const struct posix_attr *attr, struct thread_attr *out)
{
    int cpu = -1;
    if (!RT_BINDS) {
        return 0; /* attributes have all CPUs */
    }
    int error = attr->cpus != 0 ? posix_cpus_translate(attr->cpus, &cpu) : 0;
    out->bind = cpu >= 0 ? (uint32_t)cpu + 1 : attr->cpus != 0 ? THREAD_UNBOUND : 0;
    return error;
}

ALWAYS_INLINE bool posix_attr_has_default(void)
{
    return false;
}

ALWAYS_INLINE int posix_attr_translate_default(struct thread_attr *out)
{
    (void)out;
    return 0;
}

ALWAYS_INLINE size_t posix_attr_default_size(void)
{
    return 0;
}

#endif
