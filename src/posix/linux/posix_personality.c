/* SPDX-License-Identifier: MIT */
/*
 * posix_personality.c - the personality of the POSIX names on hosted systems, and the work to be
 * done before the program begins.
 *
 * The table is constant, so it also serves a caller that comes before our constructor. Libraries
 * whose constructors start threads or lock mutexes are common (GLib, OpenMP), and a preloaded
 * library's constructor runs last. The constructor or the runtime's start, whichever comes first,
 * does the work that cannot be constant (posix_begin).
 */
#include <errno.h>
#include <sys/resource.h>

#include "../../sync/shared.h"
#include "../signals/posix_signal.h"
#include "port_foreign.h"
#include "port_posix.h"
#include "posix_children.h"
#include "posix_sanitizer.h"

static size_t stack_of_limit(void)
{
    struct rlimit limit;
    size_t size = (size_t)RT_STACK_UNLIMITED_M << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        size = limit.rlim_cur;
    }
    size = size < RT_STACK_MIN ? RT_STACK_MIN : size > RT_STACK_MAX ? RT_STACK_MAX : size;
    return size & ~(size_t)4095;
}

/* The limit when the process began: a later limit is for programs that it starts. */
static size_t stack_size(void)
{
    static _Atomic(size_t) known;
    size_t size = at_load_rlx(&known);
    if (size == 0) {
        size = stack_of_limit();
        at_store_rlx(&known, size);
    }
    return size;
}

_Atomic(uint32_t) posix_process_id;

uint32_t posix_process_learn(void)
{
    uint32_t id = (uint32_t)getpid();
    at_store_rlx(&posix_process_id, id);
    return id;
}

static const char *main_name(void)
{
    return program_invocation_short_name;
}

/* The child has one kernel thread, so no other thread holds our locks. */
static void forked(void)
{
    posix_process_learn();
    rt_shared_reset();
    rt_robust_forked(rt_survivor != NULL ? rt_survivor : port_foreign_known());
    posix_local_forked();
    posix_attr_forked();
    posix_signals_forked();
}

static void begin_once(void)
{
    stack_size();
    posix_sanitizer_begin();
    if (port_fork_watch() != 0) {
        static const char text[] = "pirn: no memory for a fork handler\n";
        port_write(text, sizeof(text) - 1);
        port_exit_now(1);
    }
    posix_signals_learn();
}

/* Runs before the runtime catches signals, and before the program registers fork handlers: in a
 * child ours run first. Another kernel thread, which an allocator has made before constructors ran,
 * may start the runtime meanwhile: it waits until all is done. */
static void posix_begin(void)
{
    static _Atomic(uint32_t) begun; /* 1: by some thread; 2: done */
    uint32_t state = 0;
    if (at_cas_acq(&begun, &state, 1u)) { /* ORDER(start) */
        begin_once();
        at_store_rel(&begun, 2u); /* ORDER(start) */
    }
    for (unsigned round = 0; at_load_acq(&begun) != 2; round++) { /* ORDER(start) */
        port_relax(round);
    }
}

static __attribute__((constructor)) void program_begins(void)
{
    children_begin();
    posix_begin();
}

static void started(void)
{
    posix_signals_started();
    posix_streams_begin();
}

const struct rt_personality rt_personality = {
    .own_tls = true,
    .preempt = true,
    .classes = true,
    .early = true,
    .take_calls = true,
    .stack_size = stack_size,
    .main_name = main_name,
    .begin = posix_begin,
    .started = started,
    .local_end = posix_local_end,
    .local_drop = posix_local_drop,
    .tools_end = posix_sanitizer_end,
    .tools_exit = posix_sanitizer_exit,
    .cancel_act = posix_cancel_now,
    .signals_act = posix_signals_take,
    .signals_end = posix_signals_end,
    .forked = forked,
};
