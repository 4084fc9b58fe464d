/* SPDX-License-Identifier: MIT */
/*
 * posix_abi.h (glibc) - the system's headers, and the part of glibc's ABI that posix.h needs.
 *
 * Where threads have TLS blocks of their own, a pthread_t is the address of the C library's
 * descriptor: libraries may read it, and pthread_self is the C library's. Otherwise it is the
 * address of our descriptor.
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
#include <sys/mman.h>
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

/* The value that glibc writes into a semaphore or a barrier that is shared between processes.
 * posix_layout.c has the layout of glibc's objects. */
#define POSIX_SHARED_MARK 128u

/* glibc's spin locks on x86-64 count down from 1, and may be below 0 while threads wait. */
#ifdef __x86_64__
enum { POSIX_SPIN_HELD = 0, POSIX_SPIN_FREE = 1 };
#else
enum { POSIX_SPIN_FREE = 0, POSIX_SPIN_HELD = 1 };
#endif

/* The pool for thread->local grows by this many bytes at a time. */
#define POSIX_SLAB_BYTES (64u << 10)

sem_t *pirn_posix_sem_open(const char *name, int flags, ...);
sem_t *posix_sem_vopen(const char *name, int flags, va_list args);

/* Cleanup handlers as the macros of <pthread.h> register them in C: posix_exit.c. */
typedef __pthread_unwind_buf_t posix_cleanup;
void posix_cleanup_register(posix_cleanup *buf);
void posix_cleanup_unregister(posix_cleanup *buf);
void posix_cleanup_register_defer(posix_cleanup *buf);
void posix_cleanup_unregister_restore(posix_cleanup *buf);
NORETURN void posix_cleanup_next(posix_cleanup *buf);

/* setjmp and longjmp of these macros: their buffer has no room for a signal mask. Versions of glibc
 * differ in what its type is called. This setjmp must not look up another function: dlsym itself
 * calls pthread_once up to 2.33. */
int posix_cleanup_setjmp(void *buf) __asm__("_setjmp") __attribute__((returns_twice));
NORETURN void posix_cleanup_longjmp(void *buf, int value) __asm__("siglongjmp");

struct posix_unwind {
    struct _Unwind_Exception exception;
};

/* The thread that a pthread_t names. NULL: a null pointer, or a kernel thread that has not called
 * the runtime yet. */
ALWAYS_INLINE struct thread *posix_thread(pthread_t thread)
{
    struct thread *t = port_thread_of_handle((void *)thread);
    if (unlikely(t == NULL) && (void *)thread == port_tls_handle_early()) {
        t = rt_identity(); /* makes a descriptor for a foreign thread */
    }
    return t;
}

/* The caller is a kernel thread that Pirn did not make, or there is no runtime yet: it blocks in
 * the kernel. */
ALWAYS_INLINE bool posix_is_foreign(void)
{
    return unlikely(port_cpu_self() == NULL) && rt_is_foreign();
}

/* The number of this process. A fork changes it. */
extern _Atomic(uint32_t) posix_process_id; /* 0: not known yet */
uint32_t posix_process_learn(void);

ALWAYS_INLINE uint32_t posix_process(void)
{
    uint32_t id = at_load_rlx(&posix_process_id);
    return likely(id != 0) ? id : posix_process_learn();
}

/* glibc's attribute, field for field: glibc's own functions that take one (timer_create,
 * thrd_create) read it, and others (aio) pass it on to pthread_create. */
struct posix_attr {
    int priority;
    int policy;
    int flags;
    size_t guard;
    char *top; /* end of the stack; valid if POSIX_ATTR_STACK is set */
    size_t size;
    struct posix_attr_extension *extension; /* NULL, or from malloc: posix_attr_ext.c */
};

/* Values that do not fit into the attribute. Up to `set` this is glibc's layout, too. */
struct posix_attr_extension {
    cpu_set_t *cpuset; /* NULL: not set; else &set */
    size_t cpusetsize;
    sigset_t sigmask;
    bool sigmask_set;
    cpu_set_t set;
};

int posix_attr_translate_more(const struct posix_attr *attr, struct thread_attr *out);

/* Attributes of a thread that is created without any. */
extern _Atomic(uint32_t) posix_attr_default_set; /* pthread_setattr_default_np was called */
int posix_attr_translate_default(struct thread_attr *out);

ALWAYS_INLINE bool posix_attr_has_default(void)
{
    return at_load_rlx(&posix_attr_default_set) != 0;
}

/* The stack size set by pthread_setattr_default_np, bytes; 0 if there is none. */
size_t posix_attr_default_size(void);

/* In the child of a fork: mark posix_attr_ext.c's lock as free. */
void posix_attr_forked(void);

#endif
