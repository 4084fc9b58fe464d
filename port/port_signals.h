/* SPDX-License-Identifier: MIT */
/*
 * port_signals.h - signals and cancellation of threads that run or wait in the kernel.
 *
 * PORT_SIGNALS (port_env.h): true where signals end waits. PORT_KNOWS_INSIDE: true where
 * port_may_wait can tell whether a handler has interrupted the runtime. PORT_DUMP_ASKED: true where
 * the user can ask for a report of the threads; as PORT_SIGNALS if it is not defined.
 */
#ifndef PIRN_PORT_SIGNALS_H
#define PIRN_PORT_SIGNALS_H

#include "port_preempt.h"

#include <errno.h>

#if PORT_SIGNALS
/* User thread t, if it runs, must call rt_cancel_notice soon, and then, outside the runtime,
 * rt_cancel_async or rt_signals_left. Interrupts are disabled. */
void port_thread_interrupt(struct thread *t);

/* Is the caller a signal handler that interrupted the runtime? As far as the port knows. */
bool port_is_inside(void);

/* May the calling user thread wait here? Not in a signal handler that has interrupted the runtime
 * or runs on the worker's signal stack; nor if the port cannot tell. */
bool port_may_wait(void);

/* Threads will be cancelled: take over the C library's signal for that. A second call does nothing.
 * 0 or -errno. */
int port_cancel_start(void);
#else
ALWAYS_INLINE void port_thread_interrupt(struct thread *t)
{
    (void)t;
}

ALWAYS_INLINE bool port_is_inside(void)
{
    return false;
}

ALWAYS_INLINE bool port_may_wait(void)
{
    return port_cpu_near() != NULL && port_may_switch();
}

ALWAYS_INLINE int port_cancel_start(void)
{
    return 0;
}
#endif

#ifndef PORT_DUMP_ASKED
#define PORT_DUMP_ASKED PORT_SIGNALS
#endif

#if PORT_DUMP_ASKED
/* The number of a signal by its name or number, or of a key of the console, for option dump; -1:
 * there is none of that name. port_dump_start: report the threads when it comes. 0 or -errno. */
int port_signal_of(const char *name);
int port_dump_start(int signal);
#else
ALWAYS_INLINE int port_signal_of(const char *name)
{
    (void)name;
    return -1;
}

ALWAYS_INLINE int port_dump_start(int signal)
{
    (void)signal;
    return -ENOSYS;
}
#endif

/*
 * Upcalls.
 *
 * at_call: the call can be stopped at the interrupted instruction. STOP: a request to end is due:
 * stop the call. SIGNAL: there are signals for the thread: stop it likewise. LATER: other code was
 * interrupted, perhaps a handler of the program above the call: ask again when that has ended.
 */
enum rt_notice { RT_NOTICE_NONE, RT_NOTICE_STOP, RT_NOTICE_SIGNAL, RT_NOTICE_LATER };
enum rt_notice rt_cancel_notice(bool at_call);
bool rt_thread_ends(void); /* the calling user thread leaves the runtime no more, or is about to */
bool rt_cancel_async_due(void);
void rt_cancel_async(void); /* does not return if a request to end is due */
bool rt_signalled(void);    /* there may be signals for the calling user thread, and it may take
                               them: it is in no call (rt_call_begin) */
void rt_signals_left(void); /* it takes them, outside the runtime */
void rt_dump_asked(void);   /* any context */

#endif
