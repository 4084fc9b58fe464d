/* SPDX-License-Identifier: MIT */
/*
 * posix.h - shared by the files of the POSIX layer only.
 *
 * The layer validates, maps error numbers and keeps what POSIX adds to a thread (keys, cleanup
 * handlers). Objects lie in place in the system's types: zeroed ones and those
 * of PTHREAD_*_INITIALIZER are valid, because src/sync/sync.h keeps the fields that the
 * initialisers set at the same offsets. Functions return +errno; sem_* and nanosleep return -1 and
 * set errno.
 *
 * pthread_t is the address of the descriptor that the C library has for the thread, where threads
 * have TLS blocks of their own (then libraries may look into it, and pthread_self is the C
 * library's); else of ours.
 */
#ifndef PIRN_POSIX_H
#define PIRN_POSIX_H

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

#include <pirn/pthread_np.h>

#include "../core/cancel.h"
#include "../sync/sync.h"
#include "options.h"

#define PTHREAD(ret, name, params, args) ret pirn_pthread_##name params;
#define POSIX(ret, name, params, args) ret pirn_posix_##name params;
#include "posix.def"
#undef PTHREAD
#undef POSIX

int pirn_posix_sched_yield(void);
NORETURN void pirn_pthread_exit(void *ret);
NORETURN void pirn_posix_thrd_exit(int result);
sem_t *pirn_posix_sem_open(const char *name, int flags, ...);
sem_t *posix_sem_vopen(const char *name, int flags, va_list args);

/* Cleanup handlers as the macros of <pthread.h> register them in C: see exit.c. */
void posix_cleanup_register(__pthread_unwind_buf_t *buf);
void posix_cleanup_unregister(__pthread_unwind_buf_t *buf);
void posix_cleanup_register_defer(__pthread_unwind_buf_t *buf);
void posix_cleanup_unregister_restore(__pthread_unwind_buf_t *buf);
NORETURN void posix_cleanup_next(__pthread_unwind_buf_t *buf);

/* Value of a key in one thread; valid if seq is the key's. */
struct posix_slot {
    uint32_t seq;
    void *value;
};

#define POSIX_INLINE_SLOTS 16u

/*
 * What POSIX adds to a thread: thread->local, made when first needed, given back when the thread
 * ends. Owned by its thread; nobody else touches it.
 */
struct posix_local {
    struct posix_slot *slots; /* inline_slots, or a table of PTHREAD_KEYS_MAX */
    unsigned nslots;
    __pthread_unwind_buf_t *cleanup; /* newest first */
    struct posix_local *next;        /* in the pool */
    struct _Unwind_Exception unwind; /* of pthread_exit: outlives the frames that it unwinds */
    struct posix_slot inline_slots[POSIX_INLINE_SLOTS];
};

/* The caller's; made if need be; NULL without memory. */
struct posix_local *posix_local(void);

/* The thread ends: run key destructors, give its local back. For rt_local_end. */
void posix_local_end(struct thread *self);

/* In the child of a fork: attr_ext.c's lock is free. */
void posix_attr_forked(void);

/* Destructor rounds of POSIX over the values of `local`. */
void posix_keys_end(struct posix_local *local);

/* 0 or a positive error number. */
int posix_sched_translate(int policy, int priority, unsigned weight, struct sched_how *how);

/* NULL: a null pointer, or another kernel thread that has not called us yet. */
ALWAYS_INLINE struct thread *posix_thread(pthread_t thread)
{
    struct thread *t = port_thread_of_handle((void *)thread);
    if (unlikely(t == NULL) && port_tls_own && (void *)thread == port_tls_handle_self()) {
        t = rt_self(); /* makes its stand-in */
    }
    return t;
}

/* A kernel thread that Pirn did not make, or no runtime yet: block in the kernel. */
ALWAYS_INLINE bool posix_is_foreign(void)
{
    return unlikely(port_cpu_self() == NULL) && rt_is_foreign();
}

/* The calling user thread, whose request is due, ends as cancelled: cleanup handlers, key
 * destructors. Returns only in a signal handler that has interrupted the runtime: then a later
 * cancellation point acts. */
COLD void posix_cancel_now(void);

/* A cancellation point: acts on a request. At the beginning of the function, and where a wait
 * returns ECANCELED. Without a CPU (a signal handler in a call; a thread that has lost it and has
 * not called the runtime since) it is left to what follows: waits and calls look again. */
ALWAYS_INLINE void posix_point(void)
{
    const struct cpu *cpu = port_cpu_self();
    if (likely(cpu != NULL) && cancel_is_due(at_load_rlx(&cpu->current->cancel))) {
        posix_cancel_now();
    }
}

/* For exit.c. */
int posix_cancel_type(int type);

/* When to stop waiting: NULL for never. */
struct posix_limit {
    clockid_t clock;
    const struct timespec *abstime;
};

ALWAYS_INLINE bool posix_clock_valid(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* Convert to the time of port_now. 0, EINVAL (clock or tv_nsec), ETIMEDOUT (past; *deadline is
 * now). CLOCK_REALTIME is read once, here: a wait does not follow later steps of that clock. */
int posix_deadline(const struct posix_limit *limit, uint64_t *deadline);

/* The same for objects between processes: the system waits for them, and follows the clock. */
struct rt_shared_limit;
int posix_shared_limit(const struct posix_limit *limit, struct rt_shared_limit *shared);

/* This process, which changes by fork. */
extern _Atomic(uint32_t) posix_process_id;

ALWAYS_INLINE uint32_t posix_process(void)
{
    return at_load_rlx(&posix_process_id);
}

/* Set errno; -1. */
int posix_fail(int error);

/* glibc's attribute, field for field, because its own functions that take one (timer_create,
 * thrd_create) read it; aio and others pass it on to pthread_create. */
struct posix_attr {
    int priority;
    int policy;
    int flags;
    size_t guard;
    char *top; /* of the stack; POSIX_ATTR_STACK says whether it is set */
    size_t size;
    struct posix_attr_extension *extension; /* NULL, or made by malloc: attr_ext.c */
};

#define ATTR(attr) ((struct posix_attr *)(attr))
#define CONST_ATTR(attr) ((const struct posix_attr *)(attr))
#define POSIX_GUARD_DEFAULT RT_GUARD_DEFAULT

/* glibc's, too, up to `set`: what does not fit into the attribute. */
struct posix_attr_extension {
    cpu_set_t *cpuset; /* NULL: not set; else &set */
    size_t cpusetsize;
    sigset_t sigmask;
    bool sigmask_set;
    cpu_set_t set;
};

enum {
    POSIX_ATTR_DETACHED = 0x1,
    POSIX_ATTR_EXPLICIT = 0x2,
    POSIX_ATTR_STACK = 0x8,
};

/* 0, EINVAL, ENOMEM, EPERM (scheduling that we do not have yet), ENOTSUP (likewise signal masks).
 */
int posix_attr_translate(const pthread_attr_t *attr, struct thread_attr *out);
int posix_attr_translate_extension(const struct posix_attr_extension *x, struct thread_attr *out);

/* The same for a thread that is created without an attribute. */
extern _Atomic(uint32_t) posix_attr_default_set; /* pthread_setattr_default_np was called */
int posix_attr_translate_default(struct thread_attr *out);

/* The stack size of pthread_setattr_default_np; 0 if there is none. */
size_t posix_attr_default_size(void);

/* Stack of a thread that asks for no size. */
size_t posix_stack_default(void);

#endif
