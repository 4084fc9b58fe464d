/* SPDX-License-Identifier: MIT */
/*
 * self.c - who the caller is: for the C library, and for the kernel.
 */
#include <sys/syscall.h>

#include "sanitizer.h"

pthread_t pirn_pthread_self(void)
{
    if (likely(port_tls_own)) {
        return (pthread_t)port_tls_handle_self();
    }
    if (port_helper_self()) {
        return posix_sanitizer_self();
    }
    struct thread *self = rt_self();
    return (pthread_t)port_thread_handle(self);
}

/* With TLS blocks of their own, threads have the ids that the C library knows them by: unique, the
 * same on each worker, and no kernel thread's (but the main thread's). */
pid_t pirn_posix_gettid(void)
{
    return port_tls_own ? port_tls_tid() : (pid_t)syscall(SYS_gettid);
}
