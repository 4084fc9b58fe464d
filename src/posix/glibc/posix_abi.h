/* SPDX-License-Identifier: MIT */
/*
 * posix_abi.h (glibc) - the system's headers, and glibc's ABI as posix.h needs it.
 *
 * pthread_t is the address of the descriptor that the C library has for the thread, where threads
 * have TLS blocks of their own (then libraries may look into it, and pthread_self is the C
 * library's); else of ours.
 */
#ifndef PIRN_POSIX_ABI_H
#define PIRN_POSIX_ABI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "../../core/cancel.h"
#include "../../sync/sync.h"
#include "port_posix.h"

/* Objects may be shared between processes. */
#define POSIX_PROCESSES true

/* What glibc writes where a semaphore or a barrier says that it is between processes. The layout of
 * its objects: posix_layout.c. */
#define POSIX_SHARED_MARK 128u

/* glibc's spin locks on x86-64 count down from 1, and may be below 0 while others want the lock. */
#ifdef __x86_64__
enum { POSIX_SPIN_HELD = 0, POSIX_SPIN_FREE = 1 };
#else
enum { POSIX_SPIN_FREE = 0, POSIX_SPIN_HELD = 1 };
#endif

/* Memory for thread->local is taken so many bytes at a time. */
#define POSIX_SLAB_BYTES (64u << 10)

sem_t *pirn_posix_sem_open(const char *name, int flags, ...);
sem_t *posix_sem_vopen(const char *name, int flags, va_list args);

/* Cleanup handlers as the macros of <pthread.h> register them in C: see posix_exit.c. */
typedef __pthread_unwind_buf_t posix_cleanup;
void posix_cleanup_register(posix_cleanup *buf);
void posix_cleanup_unregister(posix_cleanup *buf);
void posix_cleanup_register_defer(posix_cleanup *buf);
void posix_cleanup_unregister_restore(posix_cleanup *buf);
NORETURN void posix_cleanup_next(posix_cleanup *buf);

struct posix_unwind {
    struct _Unwind_Exception exception;
};

/* NULL: a null pointer, or another kernel thread that has not called us yet. */
ALWAYS_INLINE struct thread *posix_thread(pthread_t thread)
{
    struct thread *t = port_thread_of_handle((void *)thread);
    if (unlikely(t == NULL) && (void *)thread == port_tls_handle_self()) {
        t = rt_identity(); /* makes its stand-in */
    }
    return t;
}

/* A kernel thread that Pirn did not make, or no runtime yet: block in the kernel. */
ALWAYS_INLINE bool posix_is_foreign(void)
{
    return unlikely(port_cpu_self() == NULL) && rt_is_foreign();
}

/* This process, which changes by fork. */
extern _Atomic(uint32_t) posix_process_id; /* 0: not known yet */
uint32_t posix_process_learn(void);

ALWAYS_INLINE uint32_t posix_process(void)
{
    uint32_t id = at_load_rlx(&posix_process_id);
    return likely(id != 0) ? id : posix_process_learn();
}

/* glibc's attribute, field for field, because its own functions that take one (timer_create,
 * thrd_create) read it; aio and others pass it on to pthread_create. */
struct posix_attr {
    int priority;
    int policy;
    int flags;
    size_t guard;
    char *top; /* of the stack; POSIX_ATTR_STACK says whether it is set */
    size_t size;
    struct posix_attr_extension *extension; /* NULL, or made by malloc: posix_attr_ext.c */
};

/* glibc's, too, up to `set`: what does not fit into the attribute. */
struct posix_attr_extension {
    cpu_set_t *cpuset; /* NULL: not set; else &set */
    size_t cpusetsize;
    sigset_t sigmask;
    bool sigmask_set;
    cpu_set_t set;
};

int posix_attr_translate_more(const struct posix_attr *attr, struct thread_attr *out);

/* A thread that is created without an attribute. */
extern _Atomic(uint32_t) posix_attr_default_set; /* pthread_setattr_default_np was called */
int posix_attr_translate_default(struct thread_attr *out);

ALWAYS_INLINE bool posix_attr_has_default(void)
{
    return at_load_rlx(&posix_attr_default_set) != 0;
}

/* The stack size of pthread_setattr_default_np; 0 if there is none. */
size_t posix_attr_default_size(void);

/* In the child of a fork: posix_attr_ext.c's lock is free. */
void posix_attr_forked(void);

#endif
