/* SPDX-License-Identifier: MIT */
/*
 * port_tls.h - thread-local storage of the program (__thread), a block for each thread.
 *
 * PORT_TLS (port_env.h): true where the port can give threads blocks of their own (THREAD_TLS).
 * PORT_TLS_ALWAYS: they always have them, because they cost nothing; the user and the personality
 * have no choice.
 *
 * port_env.h has, inline, port_thread_handle(t): the thread's id (pthread_t) for the platform's
 * libraries.
 */
#ifndef PIRN_PORT_TLS_H
#define PIRN_PORT_TLS_H

#include "port.h"

#include <errno.h>

#if PORT_TLS
/* Called once, after port_init and before any thread exists beside the caller. 0: from now on all
 * threads have blocks, those of carriers included, and port_thread_switch switches between them.
 * Else threads share the block of the CPU that runs them, and *why says why: -ENOTSUP, -ENOMEM:
 * a message says so; -ENOSYS: none does (builds for tests). by_syscall: switch by a system call
 * even where an instruction can, to measure that. */
int port_tls_start(bool by_syscall, const char **why);

/* Bytes of a block. */
size_t port_tls_room(void);

/* Make t's block in the port_tls_room() bytes from `at`, above t's stack. May allocate and block:
 * not between rt_enter and rt_leave. 0 or -ENOMEM. */
int port_tls_alloc(struct thread *t, void *at);

/* Give up the block, and the C library's state of it. Then its memory may be freed. Any context. */
void port_tls_free(struct thread *t);

/* Called in the thread. begin: its life begins. end: run the destructors of its thread-local
 * objects. reset: no code of the program runs in it any more; make the block new, for its next
 * life. reset_unused: if the life has left nothing for which code of the program, or of the C
 * library, has to run, do as reset; else false, and nothing is done: end and reset have to come. */
void port_tls_begin(void);
void port_tls_end(void);
void port_tls_reset(void);
bool port_tls_reset_unused(void);
#else
ALWAYS_INLINE int port_tls_start(bool by_syscall, const char **why)
{
    (void)by_syscall;
    *why = "this port has no thread-local storage of a thread's own";
    return -ENOSYS;
}

ALWAYS_INLINE size_t port_tls_room(void)
{
    return 0;
}

ALWAYS_INLINE int port_tls_alloc(struct thread *t, void *at)
{
    (void)t;
    (void)at;
    return -ENOMEM;
}

ALWAYS_INLINE void port_tls_free(struct thread *t)
{
    (void)t;
}

ALWAYS_INLINE void port_tls_begin(void) {}
ALWAYS_INLINE void port_tls_end(void) {}
ALWAYS_INLINE void port_tls_reset(void) {}
ALWAYS_INLINE bool port_tls_reset_unused(void)
{
    return true;
}
#define port_thread_handle(t) ((void *)(t))
#endif

#endif
