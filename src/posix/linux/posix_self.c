/* SPDX-License-Identifier: MIT */
/*
 * posix_self.c - the caller's identity: pthread_self and gettid.
 */
#include <sys/syscall.h>

#include "port_posix.h"
#include "port_tls.h"
#include "posix_sanitizer.h"
#include "runtime.h"

/* Called before it is decided whether threads have TLS blocks of their own. A kernel thread other
 * than the main one makes the runtime decide, or it is one of ours, and then there will be blocks
 * if that is possible. */
static COLD pthread_t early_self(struct thread *self)
{
    if ((self->flags & (THREAD_FOREIGN | THREAD_MAIN)) == THREAD_FOREIGN) {
        self = rt_self();
        if (at_load_acq(&rt.started) != 2) { /* ORDER(start) */
            return (pthread_t)port_tls_handle_early();
        }
    }
    return (pthread_t)port_thread_handle(self);
}

pthread_t pirn_pthread_self(void)
{
    if (likely(port_tls_own)) {
        return (pthread_t)port_tls_handle_self();
    }
    if (port_helper_self()) {
        return posix_sanitizer_self();
    }
    return early_self(rt_identity());
}

/* With TLS blocks of their own, threads have the ids by which the C library knows them. They are
 * unique, the same on each worker, and differ from those of kernel threads (but the main
 * thread's). */
pid_t pirn_posix_gettid(void)
{
    return port_tls_own ? port_tls_tid() : (pid_t)syscall(SYS_gettid);
}
