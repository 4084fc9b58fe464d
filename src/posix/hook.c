/* SPDX-License-Identifier: MIT */
/*
 * hook.c - before the program begins: the hooks that the core calls, and the defaults of its
 * options.
 */
#include <errno.h>
#include <sys/resource.h>

#include "../sync/shared.h"
#include "sanitizer.h"
#include "signal.h"

static size_t stack_default(void)
{
    struct rlimit limit;
    size_t size = 8u << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        size = limit.rlim_cur;
    }
    size = size < RT_STACK_MIN ? RT_STACK_MIN : size > RT_STACK_MAX ? RT_STACK_MAX : size;
    return size & ~(size_t)4095;
}

_Atomic(uint32_t) posix_process_id;

static void process_is(void)
{
    at_store_rlx(&posix_process_id, (uint32_t)getpid());
}

/* A child has one kernel thread: nobody else holds our locks. */
static void posix_forked(void)
{
    process_is();
    rt_shared_reset();
    posix_local_forked();
    posix_attr_forked();
    posix_signals_forked();
}

/* Before anything can start the runtime, and before the program's own fork handlers: those of ours
 * are to run first in a child. */
static __attribute__((constructor)) void posix_hook(void)
{
    process_is();
    posix_sanitizer_hook();
    if (port_fork_watch() != 0 || pthread_atfork(NULL, NULL, posix_forked) != 0) {
        static const char text[] = "pirn: no memory for a fork handler\n";
        port_write(text, sizeof(text) - 1);
        port_exit_now(1);
    }
    posix_signals_hook();
    rt_local_end = posix_local_end;
    rt_cancel_act = posix_cancel_now;
    rt_stack_default = stack_default();
    rt_main_name = program_invocation_short_name;
    rt_tls_default = true;
    rt_preempt_default = true;
    rt_surprise_default = true;
    rt_classes_default = true;
}
