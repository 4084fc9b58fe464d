/* SPDX-License-Identifier: MIT */
/*
 * port_report.h - reports of deadlocks and of errors, and lists of threads.
 *
 * PORT_REPORT (port_env.h): true where the port can call for a report (sync/report.h).
 */
#ifndef PIRN_PORT_REPORT_H
#define PIRN_PORT_REPORT_H

#include "port.h"

#include <stdio.h>

#if PORT_REPORT
/* Have rt_report_turn called soon, and then again at the times that it returns, by a kernel thread
 * that is no carrier; or by the calling CPU while it sleeps. Any context. */
void port_report_poke(void);

/* May something of the program's call the runtime that is none of its user threads: other kernel
 * threads, signal handlers? True where that cannot be told. */
bool port_outsiders(void);

/* Call fn while no thread moves, and where it harms nobody if it fails. */
void port_report_run(void (*fn)(void));

/* Where the program's own code has called what thread t waits in; called by fn above. False: cannot
 * tell. */
bool port_where(const struct thread *t, char *text, size_t size);

/* Write, in lines of their own, which calls are active in thread t, which waits; called by fn
 * above. May write nothing. */
void port_say_calls(const struct thread *t);

/* Describe -errno `error` for the user. Where a resource is used up (-EAGAIN, -ENOMEM), also the
 * limits that may be the reason, and what the user can do on this platform. Ends with a NUL; size
 * is not 0. */
void port_error_text(int error, char *text, size_t size);
#else
ALWAYS_INLINE void port_report_poke(void) {}

ALWAYS_INLINE bool port_outsiders(void)
{
    return true;
}

ALWAYS_INLINE void port_report_run(void (*fn)(void))
{
    fn();
}

ALWAYS_INLINE bool port_where(const struct thread *t, char *text, size_t size)
{
    (void)t;
    (void)text;
    (void)size;
    return false;
}

ALWAYS_INLINE void port_say_calls(const struct thread *t)
{
    (void)t;
}

ALWAYS_INLINE void port_error_text(int error, char *text, size_t size)
{
    snprintf(text, size, "error %d", -error);
}
#endif

/* Upcalls. The thread's number and name; that it has used up its stack. */
uint64_t rt_report_turn(uint64_t now); /* when to call it again */
void rt_describe_thread(const struct thread *t, char *text, size_t size);
void rt_describe_full_stack(const struct thread *t, char *text, size_t size);
struct thread *rt_thread_of_port(const struct port_thread *port);
const struct port_ctx *rt_thread_ctx(const struct thread *t);
bool rt_thread_waits(const struct thread *t);

/* If `address` lies within `guard` bytes below the stack of the CPU's running thread: true, and a
 * message. */
bool rt_describe_overflow(struct cpu *cpu, uintptr_t address, char *text, size_t size);

#endif
